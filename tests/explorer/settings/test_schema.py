"""One declaration of a setting: its checks, and what the page is told about it."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields
from typing import Annotated

import pytest

from parkade.analysis.centers import KINDS, separation
from parkade.base.errors import InputError
from parkade.explorer import Settings
from parkade.explorer.settings.kinds import Choice, Matrix, Number
from parkade.explorer.settings.schema import Slider, declared, schema
from parkade.explorer.settings.settings import FIELDS
from parkade.explorer.standalone.export import PAGE

DESCRIBED = {field["name"]: field for field in schema(Settings)}


@dataclass(frozen=True)
class More(Settings):
    """Settings with two more fields."""

    wind: Annotated[
        float, Number(label="wind", symbol="σ", low=0, high=1, slider=Slider(0, 0.5))
    ] = 0.0
    walls: Annotated[str, Choice(label="walls", options={"all": "all", "none": "none"})] = "all"


def test_every_setting_is_described():
    assert list(DESCRIBED) == [field.name for field in fields(Settings)]
    assert json.loads(json.dumps(schema(Settings), allow_nan=False)) == schema(Settings)
    assert {name: field["default"] for name, field in DESCRIBED.items()} == Settings().to_dict()
    for field in DESCRIBED.values():
        assert field["label"]
        assert field["control"] in ("number", "seed", "choice", "matrix")


def test_defaults_and_ends_of_sliders_are_allowed():
    """What the page offers is what the server takes."""
    for name, field in DESCRIBED.items():
        if field["control"] == "number":
            values = [field["low"], field["high"], field["slider"]["low"], field["slider"]["high"]]
        elif field["control"] == "choice":
            values = [value for value, _ in field["options"]]
        else:
            values = []
        for value in [field["default"], *values]:
            assert FIELDS[name].read(name, value) == value


def test_the_derived_number_is_the_separation():
    derived = FIELDS["c"].derived
    for c, beta in [(4.0, 64.0), (2.0, 9.0), (4.0, 0.5), (4.0, 0.0)]:
        expected = separation(c, beta)
        assert derived.value({"c": c, "beta": beta}) == pytest.approx(expected, rel=1e-15)
    assert derived.most == math.pi


def test_frozen_centres_are_those_of_the_library():
    assert list(FIELDS["frozen"].options) == ["none", *KINDS]


def test_a_new_setting_needs_one_declaration():
    *before, wind, walls = schema(More)
    assert before == schema(Settings)
    assert wind == {
        "name": "wind", "default": 0.0, "control": "number", "label": "wind", "symbol": "σ",
        "low": 0, "high": 1, "whole": False, "derived": None,
        "slider": {"low": 0, "high": 0.5, "log": False},
    }  # fmt: skip
    assert walls["options"] == [["all", "all"], ["none", "none"]]
    assert list(declared(More))[-2:] == ["wind", "walls"]


def test_settings_without_effect_are_idle():
    usual = Settings().to_dict()
    idle = {name for name, field in FIELDS.items() if field.is_idle(usual)}
    assert idle == {"reach", "rank", "gain", "sample", "slope"}
    assert DESCRIBED["reach"]["idle"] == {"mask": ["causal", "full"]}
    one = FIELDS["sample"].is_idle({**usual, "heads": 2}), FIELDS["sample"].is_idle(usual)
    assert one == (False, True)
    for field in FIELDS.values():
        assert set(field.idle) <= set(FIELDS)
    assert [name for name in DESCRIBED if DESCRIBED[name].get("group")] == list(DESCRIBED)[-10:]


def test_long_texts_are_left_out_of_captions():
    matrix = Matrix(label="values", symbol="V", size="d")
    assert matrix.phrased("1,1,-1") == "V = 1,1,-1"
    assert matrix.phrased("1," * 40 + "1") == "V = …"


def test_a_seed_of_a_matrix_has_the_range_of_seeds():
    matrix = Matrix(label="values", size="d")
    with pytest.raises(InputError, match="SEED of V must be a whole number from 0"):
        matrix.matrix("V", f"random:{2**53}", 2)


def test_the_scripts_of_controls_and_links_name_no_setting():
    """Their ranges, defaults and labels come from the schema only."""
    names = [name for name in DESCRIBED if len(name) > 1]
    controls = [
        f"controls/{name}" for name in ("controls", "inputs", "matrixfield", "link", "presets")
    ]
    for file in (*controls, "state", "runs", "main"):
        text = (PAGE / f"{file}.js").read_text(encoding="utf-8")
        code = "\n".join(line for line in text.splitlines() if not line.startswith("//"))
        assert not [name for name in names if f"'{name}'" in code or f".{name}" in code], file
