"""What a page that computes by itself has with it: engines, a Worker, the schema, presets."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np

from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.explorer.settings import rules
from parkade.explorer.settings.presets import presets
from parkade.explorer.settings.settings import Settings
from parkade.explorer.standalone.bundle import PAGE, bundle
from parkade.model import matrices, sphere
from parkade.model.transformer import Transformer
from parkade.runs.path import Path as Run

_ENGINES = Path(__file__).parents[1] / "engines"
_MODULES = ("plan", "scene", "explicit{d}", "implicit{d}")
_PARTS = ("fieldplan", "explicitfield", "implicitfield", "splittingfield")
_SEEDS = 1000  # starts that are looked for in a run


@cache
def carried(
    dimensions: tuple[int, ...] = rules.DIMENSIONS, *, parts: bool = True
) -> dict[str, bytes]:
    """The files of a page with engines for these dimensions, by their addresses.

    Those for the `parts` of a transformer make it a third larger.
    """
    from parkade.explorer.standalone import shared

    modules = (*_MODULES, *_PARTS) if parts else _MODULES
    names = {d: [name.format(d=d) for name in modules] for d in dimensions}
    offered = [
        p.to_dict() for p in presets() if not rules.beyond(p.settings, dimensions, parts=parts)
    ]
    knowledge = {
        **rules.knowledge(dimensions, parts=parts),
        "engines": names,
        "shared": shared.shared(),
    }
    every = sorted({name for some in names.values() for name in some})
    return {
        "knowledge.json": json.dumps(knowledge, allow_nan=False).encode(),
        "presets.json": json.dumps(offered, allow_nan=False).encode(),
        "worker.js": bundle(PAGE / "compute" / "worker.js").encode(),
        **{f"engines/{name}.wasm": (_ENGINES / f"{name}.wasm").read_bytes() for name in every},
    }


def check(settings: Settings) -> None:
    """Raise if pages cannot compute these settings."""
    beyond = rules.beyond(settings)
    if beyond:
        raise InputError(
            f"a live page computes d = 2 and 3, got {', '.join(beyond)}; make a page without "
            "controls"
        )


def settings_of(run: Run) -> Settings:
    """The settings with which a page computes a run again; raises if there are none."""
    model = run.model
    if not isinstance(model, Transformer) or not model.plain or len(run.frozen):
        what = "a run without a model" if model is None else model.label
        what += " with frozen tokens" if len(run.frozen) else ""
        raise InputError(
            f"a live page computes models with a single attention head, got {what}; leave live out"
        )
    n, d = run.tokens.shape[1:]
    assert model.beta is not None
    assert model.product is not None
    assert model.generator is not None
    settings = Settings(
        n=n,
        d=d,
        beta=model.beta,
        T=float(run.times[-1]),
        V=_text(model.generator),
        Q=_text(model.product),  # with K = I, all that counts
        mask=str(model.mask),
        seed=_seed(run.tokens[0]),
    )
    check(settings)
    return settings


def _seed(start: Array) -> int:
    """The seed of a uniform start."""
    n, d = start.shape
    for seed in range(_SEEDS):
        # The first token tells whether it can be this one.
        if np.allclose(sphere.uniform(1, d, seed), start[:1], rtol=0, atol=1e-12) and np.allclose(
            sphere.uniform(n, d, seed), start, rtol=0, atol=1e-12
        ):
            return seed
    raise InputError(
        f"a live page computes from pk.sphere.uniform(n, d, seed) with a seed below {_SEEDS}, got "
        "another start; leave live out"
    )


def _text(m: Array) -> str:
    """A matrix as a setting, with all digits."""
    if matrices.is_identity(m):
        return "I"
    diagonal = np.diagonal(m)
    rows = [diagonal] if np.array_equal(m, np.diag(diagonal)) else list(m)
    return ";".join(",".join(map(_digits, row.tolist())) for row in rows)


def _digits(entry: float) -> str:
    """All digits of a number, and no others."""
    return repr(entry).removesuffix(".0")
