"""Scenes that a page assembles from steps are those of the server."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import Error
from support.assembly import Assembled, native
from support.explorer import assert_close, unpacked
from support.lowered import module
from support.wasm import interface, replaced

from parkade.analysis.clusters import default_radius, merge_tree
from parkade.explorer.scenes.build import build, put_back
from parkade.explorer.scenes.forecast import forecast

TIMES = 1e-12
MERGES = 1e-8
"""How far times of frames and of merges may differ, relative."""

FRAMES = 1e-6
"""How far tokens in frames may differ: they have 32 bits."""

LIFE = {"n": 40, "d": 2, "beta": 64.0, "T": 1e60}
TURNING = "1,-1,0;1,1,0;0,0,0.5"
GRID = [
    LIFE,
    {"n": 24, "d": 2, "beta": 9.0, "T": 20.0},
    {"n": 1, "d": 3, "beta": 1.0, "T": 5.0},
    {"n": 2, "d": 2, "beta": 0.0, "T": 100.0},
    {"n": 30, "d": 3, "beta": 9.0, "T": 1e12},
    {"n": 30, "d": 3, "beta": 4.0, "T": 1e5, "V": "1,1,-1", "seed": 3},
    {"n": 30, "d": 3, "beta": 9.0, "T": 1e4, "V": "1,0.2,0;0.2,1,0;0,0,0.5", "Q": "random:3"},
    {"n": 20, "d": 2, "beta": 4.0, "T": 1e6, "V": "1,0.5", "seed": 2},
    {"n": 24, "d": 3, "beta": 4.0, "T": 1e3, "V": "-1,-2,-2"},
    {"n": 24, "d": 3, "beta": 4.0, "T": 1e3, "V": "-1,-1,-2"},
    {"n": 24, "d": 2, "beta": 9.0, "T": 1e20, "V": "1,-1;1,1"},
    {"n": 24, "d": 3, "beta": 9.0, "T": 1e5, "V": TURNING},
    {"n": 24, "d": 3, "beta": 9.0, "T": 50.0, "V": "1,1,0;0,1,0;0,0,0.5"},
    {"n": 20, "d": 2, "beta": 9.0, "T": 50.0, "mask": "full", "V": "1,-1"},
    {"n": 16, "d": 3, "beta": 4.0, "T": 20.0, "mask": "full"},
    {"n": 40, "d": 2, "beta": 16.0, "T": 1e6, "frozen": "renyi"},
    {"n": 40, "d": 2, "beta": 64.0, "T": 1e4, "frozen": "strong", "c": 8.0, "seed": 2},
    {"n": 40, "d": 2, "beta": 64.0, "T": 1e4, "frozen": "strong"},
    {"n": 24, "d": 3, "beta": 16.0, "T": 1e4, "frozen": "strong"},
    {"n": 16, "d": 2, "beta": 9.0, "T": 50.0, "mask": "window", "reach": 4},
    {"n": 16, "d": 3, "beta": 9.0, "T": 50.0, "norm": "pre", "mlp": 4},
    {"n": 12, "d": 2, "beta": 9.0, "T": 1e3, "norm": "peri"},
    {"n": 12, "d": 2, "beta": 9.0, "T": 2.0, "noise": 0.1},
    {"n": 12, "d": 3, "beta": 9.0, "T": 2.0, "noise": 0.05},
    {"n": 2, "d": 2, "beta": 8.0, "T": 1e9, "V": "1,0.5", "Q": "0,-1;1,0", "seed": 6},
]


@pytest.fixture(scope="module")
def assembled(new_page):
    return Assembled(new_page())


def check(assembled, chosen):
    run, settings = native(**chosen)
    result, expected = assembled.make("scene", run, settings)["made"], build(run, settings)
    expected = {name: expected[name] for name in result}
    assert_close(result.pop("times"), expected["times"], TIMES, path="times")
    # The phase of a rotation is known for some time.
    known = np.array(expected.pop("times")) <= min(run.phase_known_until, np.inf)
    size = (-1, settings.n, settings.d)
    ours, theirs = (unpacked(each.pop("frames"), "<f4", *size) for each in (result, expected))
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours[known], theirs[known], atol=FRAMES)
    ours, theirs = (unpacked(each.pop("labels"), "<u2", *size[:2]) for each in (result, expected))
    np.testing.assert_array_equal(ours, theirs)
    if run.radii is not None:
        ours, theirs = (unpacked(x.pop("log_radii"), "<f4", *size[:2]) for x in (result, expected))
        np.testing.assert_allclose(ours, theirs, rtol=FRAMES, atol=FRAMES)
    assert_close(result, expected, MERGES)
    return result


@pytest.mark.parametrize("chosen", GRID, ids=str)
def test_the_scene_of_the_server(assembled, chosen):
    check(assembled, chosen)


def test_all_kinds_of_endings_are_compared():
    """The grid has each kind of prediction, and forecasts, merges and plateaus."""
    kinds, forecasts = set(), 0
    for chosen in GRID:
        scene = build(*native(**chosen))
        kinds |= {(scene["theory"]["kind"], scene["theory"]["agrees"])}
        forecasts += scene["forecast"] is not None
    assert {kind for kind, _ in kinds} >= {
        *("one point", "two points", "cloud", "two clouds", "rotation", "outside", "frozen")
    }
    assert {("two points", False), ("frozen", True), ("one point", None)} <= kinds
    assert forecasts >= 3


def test_stairs(assembled):
    for chosen in (LIFE, GRID[-2]):
        run, settings = native(**chosen)
        result = assembled.make("stairs", run, settings)["made"]
        tree = merge_tree(put_back(run, settings.held), default_radius(run.model))
        predicted = forecast(run, tree)
        assert_close(result["seen"], sorted(event.time for event in tree.events), MERGES)
        times = None if predicted is None else sorted(merge["t"] for merge in predicted["merges"])
        assert_close(result["forecast"], times, MERGES)


def test_wrong_constants_are_noticed(new_page):
    page, small = new_page(), LIFE | {"n": 16}
    check(Assembled(page), small)
    for right, wrong in (
        (0.04, 0.041),  # radians between two frames
        (1e-3, -1e-3),  # how close to a predicted point a token must be
        (100.0, 1e5),  # since when merges are compared
    ):
        with pytest.raises((AssertionError, Error)):  # another scene, or none
            check(Assembled(page, replaced(right, wrong)), small)


def test_a_module_that_imports_nothing(assembled):
    imports, _ = interface(assembled.page, module("scene"))
    assert imports == []


def test_the_same_memory_again_and_again(assembled):
    """What scenes of changing size take is what the largest takes."""
    runs = [native(n=n, d=2, beta=9.0, T=5.0) for n in (8, 40, 24)]
    sizes = []
    for i in range(12):
        assembled.make("scene", *runs[i % 3])
        sizes.append(assembled.page.evaluate("() => assembly.calls.memory.buffer.byteLength"))
    assert len(set(sizes[2:])) == 1


def test_too_many_steps_for_memory_are_a_sentence(assembled):
    """A trap is one sentence, and the next scene is right."""
    said = assembled.page.evaluate(
        """() => {
          const n = 20000, tokens = new Float64Array(2 * n);
          const plan = { start: tokens, held: [], centers: {}, method: 'implicit',
            frame: { spin: [0, 0, 0, 0], basis: [1, 0, 0, 1] } };
          assembly.begin(plan, { d: 2 });
          for (let i = 0; i < 1000; i++) {
            assembly.add({ times: { length: 1 }, tokens, dense: { length: 4 * n } });
          }
          try { return assembly.scene(); } catch (error) { return error.message; }
        }"""
    )
    assert said == "the run needs more memory than a page may use; choose fewer tokens"
    check(assembled, GRID[1])
