"""The rules of settings for pages without a server: how they are checked, named and described.

The sentences are those of Python. `page/compute/check.js` and `page/panels/texts.js` only fill them
in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from parkade.base import check
from parkade.explorer.settings.formula import formula
from parkade.explorer.settings.kinds import Choice, Matrix, Seed
from parkade.explorer.settings.limits import STOPPED, STOPPED_AT, STUCK, TOL, TOO_FAR, Limits
from parkade.explorer.settings.parts import STILL
from parkade.explorer.settings.schema import SettingField, Slider, schema
from parkade.explorer.settings.settings import FIELDS, HELD, REFUSED, Settings
from parkade.model import matrices
from parkade.solve.options import NOISY_TOL

DIMENSIONS = (2, 3)
"""Those that pages have engines for."""

LIMITS = replace(Limits(), memory=2.0**27)
"""What one run in a page may take: phones have less memory."""

PARTS: dict[str, tuple[Any, ...]] = {
    "mask": ("causal", "full"),
    "norm": ("post",),
    "heads": (1,),
    "mlp": (0,),
    "encoding": ("none",),
    "growth": (0.0,),
    "noise": (0.0,),
}
"""The values of settings that a page without engines for transformers computes."""

_BEYOND = "this page computes {name}={some} only, got {got}; use parkade explore for the rest"


def knowledge(dimensions: tuple[int, ...] = DIMENSIONS, *, parts: bool = True) -> dict[str, Any]:
    """All that a page with engines for these dimensions has to know, ready for JSON.

    It also has those for the `parts` of a transformer, or not.
    """
    fields, offered = schema(Settings), _offered(dimensions, parts)
    for described in fields:
        name = described["name"]
        described["rule"] = _rule(FIELDS[name])
        if name == "d":
            described["slider"] = _between(dimensions)
        if name in offered:
            described["offered"] = list(offered[name])
    return {
        "fields": fields,
        "sentences": _SENTENCES,
        "refused": [asdict(rule) for rule in REFUSED],
        "limits": {
            **asdict(LIMITS),
            "tol": TOL,
            "noisy_tol": max(TOL, NOISY_TOL),  # with noise
            "still": STILL,  # noise that is none
        },
        "formula": formula(),
    }


def beyond(
    settings: Settings, dimensions: tuple[int, ...] = DIMENSIONS, *, parts: bool = True
) -> list[str]:
    """The settings that a page with these engines cannot compute, as texts; see `knowledge`."""
    chosen = settings.to_dict()
    offered = _offered(dimensions, parts).items()
    return [f"{name}={chosen[name]}" for name, some in offered if chosen[name] not in some]


def has_parts(settings: Mapping[str, Any] | None) -> bool:
    """Whether settings need the engines for the parts of a transformer."""
    return settings is not None and any(settings[name] not in some for name, some in PARTS.items())


def _offered(dimensions: tuple[int, ...], parts: bool) -> dict[str, tuple[Any, ...]]:
    """The values of settings that such a page computes, where it does not compute all."""
    return {"d": dimensions} | ({} if parts else PARTS)


def _rule(field: SettingField) -> dict[str, Any]:
    """How a setting is checked, and how captions name it."""
    rule: dict[str, Any] = {
        "expected": field.expected,
        "caption": field.caption,
        "phrase": field.phrase,
    }
    if isinstance(field, Matrix):
        low, high = field.entries
        rule["entries"] = [low, high, f"{low:g}", f"{high:g}"]
        rule["longest"] = field.longest
    if isinstance(field, Choice):
        rule["only"] = list(field.options)
    return rule


def _between(dimensions: tuple[int, ...]) -> dict[str, Any] | None:
    """The slider of the dimension; none if there is nothing to choose."""
    low, high = min(dimensions), max(dimensions)
    return Slider(low, high)._asdict() if low < high else None


_LOW, _HIGH = 1 / check.LARGEST, check.LARGEST

_SENTENCES = {
    "no_object": Settings.no_object,
    "no_setting": Settings.no_setting,
    "not_finite": check.NOT_FINITE,
    "shape": check.SHAPE,
    "size": check.SIZE,
    "sizes": [_LOW, _HIGH, f"{_LOW:g}", f"{_HIGH:g}"],
    "absorbs": {name: check.absorbs(name) for name in "VQK"},
    "unreadable": matrices.UNREADABLE,
    "other": Matrix.other,
    "uneven": matrices.UNEVEN,
    "not_whole": matrices.NOT_WHOLE,
    "too_long": Matrix.too_long,
    "too_large": Matrix.too_large,
    "seed": {"most": Seed.high, "expected": Seed(label="", next_label="").expected},
    "held": HELD,
    "beyond": _BEYOND,
    "too_far": TOO_FAR,
    "stuck": STUCK,
    "stopped": STOPPED,
    "stopped_at": STOPPED_AT,
}
