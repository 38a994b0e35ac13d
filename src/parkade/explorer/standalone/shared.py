"""What the engines of a page and its scripts share, declared once.

The engines (packaging/wasm) import it when they are compiled. The scripts get it as data, beside
the rules of settings (`explorer.settings.rules`).
"""

from __future__ import annotations

import math
from inspect import signature
from typing import Any, get_type_hints

from parkade.analysis import sentences
from parkade.analysis.merging import merge_tree
from parkade.engine.field.field import EVERYTHING, Field
from parkade.engine.search.balls import BLOCKED, STRONG
from parkade.engine.steps import clock
from parkade.explorer.scenes.build import FORMAT
from parkade.explorer.scenes.forecast import SINCE
from parkade.explorer.scenes.groups import HALVINGS
from parkade.explorer.scenes.theory_line import SENTENCES as LINES
from parkade.explorer.settings.parts import MIX_TIME, NORMS, norm_of
from parkade.explorer.settings.rules import DIMENSIONS, PARTS
from parkade.model.parts.position import Rope
from parkade.solve.compiled.head import CHECKED
from parkade.solve.integrate import CHECK_STEPS
from parkade.solve.lowering import lower
from parkade.solve.planning import pace, plan, rules
from parkade.solve.planning.sums import Sums, descriptions
from parkade.theory.guarantees import SENTENCES as WINDOW
from parkade.theory.table import CASES, PHRASES

SLOTS = 640
"""The number of slots of the table in which scripts and engines find arrays and numbers."""

INPUT, OUTPUT, STATE, DIRECT, REST = 0, 32, 64, 192, 320
"""Where things begin in the table of an engine for one head, and of the planners.

Where tokens may rest, runs with direct sums are at `DIRECT`, also if they began with harmonic ones.
"""

FIELD_OUTPUT, FIELD_STATE, FIELD_REST = 72, 96, 320
"""The same for engines of transformers, whose input is longer."""

SCENE = {
    "run": 32,
    "frames": 64,
    "clusters": 80,
    "labels": 112,
    "final": 120,
    "forecast": 136,
    "output": 150,
}
"""Where things begin in the table of the module that makes scenes."""

METHODS = "explicit", "implicit", "splitting"
"""The methods of integration, by their numbers."""

ANY_METHOD = -1
"""In place of the number of a method: the planner chooses one."""

AGREES = False, True, None
"""Whether a run ends as predicted, by its number; None if that is undecided."""

NORM_NUMBERS = {**lower.NORMS, "mix": len(lower.NORMS)}
"""The numbers of normalisations: those of the engine, and one that only pages have."""

VERDICTS = (*rules.VERDICTS, ("explicit", plan.NOT_CAUSAL), ("splitting", plan.IN_TURN))
"""Methods and reasons of plans for transformers, by their numbers."""

PERSISTENCE = signature(merge_tree).parameters["persistence"].default
"""The factor in time over which a plateau must last."""


def shared() -> dict[str, Any]:
    """All that scripts need, ready for JSON."""
    parts = [name for name in Field._fields if name != "table"]
    kinds = get_type_hints(Field)
    whole = [name for name in parts if kinds[name] in (int, bool)]
    return {
        "slots": SLOTS,
        "methods": METHODS,
        "parts": PARTS,
        "pace": {
            "seconds": pace.SECONDS,
            "slow": pace.SLOW,
            "few": pace.FEW,
            "many": pace.MANY,
            "long": pace.LONG,
            "steady": pace.STEADY,
            "every": pace.EVERY,
            "look": pace.LOOK,
            "angle": {name: angle for name, angle in pace.ANGLE.items() if angle < math.inf},
            "fewest": pace.FEWEST,
            "too_slow": pace.TOO_SLOW,
        },
        "engine": {
            "output": OUTPUT,
            "field_output": FIELD_OUTPUT,
            "field": parts,
            "whole": whole,
            "everything": EVERYTHING,
            "time": clock.TIME,
            "rejected": clock.REJECTED,
            "trusted": clock.TRUSTED,
            "checked": CHECKED,
            "check_steps": CHECK_STEPS,
        },
        "plan": {
            "output": OUTPUT,
            "verdicts": VERDICTS,
            "engines": {d: descriptions(d) for d in DIMENSIONS},
            "blocked": BLOCKED,
            "strong": STRONG,
            "any_method": ANY_METHOD,
            "engine": Sums("direct", "", 0.0, 0.0, parts=True).describe(2),
            "norms": NORM_NUMBERS,
            "lengths": [name for name in NORMS if norm_of({"norm": name}).radii],
            "instead": rules.VERDICTS[rules.INSTEAD][1],
            "mix_time": MIX_TIME,
            "rope_base": Rope().base,
        },
        "scene": {
            "format": FORMAT,
            "places": SCENE,
            "agrees": AGREES,
            "since": SINCE,
            "halvings": {
                "scene": HALVINGS,
                "stairs": signature(merge_tree).parameters["halvings"].default,
            },
            "cases": [case._asdict() for case in CASES],
            "phrases": PHRASES,
            "lines": LINES,
            "window": WINDOW,
            "closeness": {
                "near": sentences.NEAR,
                "inside": sentences.INSIDE,
                "within": sentences.CLOSE,
            },
        },
    }
