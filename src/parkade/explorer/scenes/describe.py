"""What a scene shows, in words: a caption, a list of facts, and a name for files."""

from __future__ import annotations

import re

from parkade.explorer.settings.kinds import Number
from parkade.explorer.settings.settings import FIELDS, Settings
from parkade.model import matrices
from parkade.model.model import Model
from parkade.model.scheduled import Scheduled
from parkade.model.transformer import Transformer
from parkade.runs.path import Path

Facts = dict[str, str | float]
"""Texts and numbers by symbol or label. The page formats the numbers."""

_SMALL = 4  # matrices up to this size are written out


def label(run: Path, model: Model | None, settings: Settings | None) -> str:
    """One line that says what was run."""
    if settings is not None:
        chosen = settings.to_dict()
        return ", ".join(
            field.phrased(chosen[name])
            for name, field in FIELDS.items()
            if not field.is_idle(chosen)
            and (
                field.caption == "always"
                or (field.caption == "changed" and chosen[name] != getattr(Settings, name))
            )
        )
    n, d = run.tokens.shape[1:]
    if model is None:
        return f"path of {n} tokens, d = {d}"
    return f"n = {n}, d = {d}, {model.label}"


def facts_of(
    run: Path, model: Model | None, settings: Settings | None, delta: float | None
) -> Facts:
    """The settings of the run, or what is known of them."""
    n, d = run.tokens.shape[1:]
    facts: Facts = {"n": str(n), "d": str(d)}
    if settings is not None:
        facts = _chosen(settings)
    else:
        if model is not None and model.beta is not None:
            facts["β"] = model.beta
        if delta is not None:
            facts["δ"] = delta
        if model is not None and (text := _written(model)):
            facts["V"] = text
        facts["T"] = float(run.times[-1])
        if model is not None and model.mask is not None:
            facts["attention"] = str(model.mask)
        if model is not None and not model.plain:
            facts["model"] = model.label
    if len(run.frozen):
        facts["frozen"] = f"{len(run.frozen)} token{'s' if len(run.frozen) > 1 else ''}"
    return facts


def file_name(run: Path, model: Model | None, settings: Settings | None) -> str:
    """A name for files of this scene, without an extension."""
    n, d = run.tokens.shape[1:]
    if model is None:
        return f"parkade-n{n}-d{d}"
    mask = "" if model.mask in (None, "causal") else str(model.mask)
    first = model.model if isinstance(model, Scheduled) else model
    norm = first.norm.name if isinstance(first, Transformer) else "post"
    others = "".join(
        f"{name}-" for name in (norm, re.sub(r"\W", "", mask)) if name not in ("", "post")
    )
    beta = "" if first.beta is None else f"-beta{first.beta:.15g}"
    if settings is not None and settings.growth:
        beta += f"-growth{settings.growth:.15g}"
    end = f"-T{float(run.times[-1]):.15g}".replace("e+", "e")
    seed = "" if settings is None else f"-seed{settings.seed}"
    return f"parkade-{others}n{n}-d{d}{beta}{end}{seed}"


def _chosen(settings: Settings) -> Facts:
    """All settings, and what follows from them."""
    chosen = settings.to_dict()
    facts: Facts = {}
    for name, field in FIELDS.items():
        value = chosen[name]
        if field.is_idle(chosen) or (field.group and value == getattr(Settings, name)):
            continue
        facts[field.title] = value if isinstance(value, float) else field.text(value)
        if isinstance(field, Number) and field.derived is not None:
            facts[field.derived.symbol] = field.derived.value(chosen)
    return facts


def _written(model: Model) -> str:
    """The matrix V as text; empty if there is none, or if it is too large."""
    V = model.generator
    if V is None or (model.d > _SMALL and not matrices.is_identity(V)):
        return ""
    if matrices.is_identity(V):
        return "I"
    return "; ".join(", ".join(f"{entry:.3g}" for entry in row) for row in V)
