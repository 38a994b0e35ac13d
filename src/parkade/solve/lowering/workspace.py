"""Workspaces for runs of transformers."""

from __future__ import annotations

from typing import Any

from parkade.engine.field.field import Field
from parkade.engine.steps import field_stages
from parkade.engine.steps.integrator import Integrator
from parkade.engine.steps.trust import new_watch


def field_workspace(engine: Integrator, field: Field, n: int, columns: int) -> Any:
    """The workspace of a transformer for n tokens, whose states have this number of columns."""
    if engine.name == "implicit":
        return field_stages.workspace(field, n, columns)
    work: Any = engine.workspace(n, columns, causal=field.causal)
    if engine.name == "explicit":
        return work._replace(watch=new_watch(n, len(field.own_value)))
    return work
