"""The integrators by name."""

from __future__ import annotations

from parkade.engine.explicit import EXPLICIT
from parkade.engine.implicit import IMPLICIT
from parkade.engine.integrator import Integrator
from parkade.engine.splitting import SPLITTING

METHODS: dict[str, Integrator] = {method.name: method for method in (EXPLICIT, IMPLICIT, SPLITTING)}
