"""All integrators by their names."""

from __future__ import annotations

from parkade.engine.steps.explicit import EXPLICIT
from parkade.engine.steps.implicit import IMPLICIT
from parkade.engine.steps.integrator import Integrator
from parkade.engine.steps.splitting import SPLITTING

METHODS: dict[str, Integrator] = {method.name: method for method in (EXPLICIT, IMPLICIT, SPLITTING)}
