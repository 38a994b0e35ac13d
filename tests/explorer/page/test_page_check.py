"""What a page says of settings and scenes without a server: the same as Python, word for word."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from support.wasm import page_script

from parkade.base import check
from parkade.base.errors import InputError
from parkade.explorer import Settings
from parkade.explorer.scenes import describe
from parkade.explorer.server.responses import error_data
from parkade.explorer.settings.equation import equation
from parkade.explorer.settings.rules import knowledge
from parkade.explorer.standalone.bundle import PAGE, bundle
from parkade.runs.path import Path
from parkade.solve.planning import pace

LONG = "9" * 70
HOSTILE = [
    {}, {"n": 0}, {"n": 2001}, {"n": 1.5}, {"n": "12"}, {"n": True}, {"n": None}, {"n": [1, 2.5]},
    {"n": {"a": "b"}}, {"n": "abc", "d": 1, "beta": -1, "T": "x" * 80, "mask": "none"},
    {"beta": 1e-7, "T": 1e-9}, {"beta": 2e6}, {"beta": 123456789.125}, {"T": 1e61}, {"T": 3e300},
    {"T": 12345678901234567890}, {"beta": -1e22}, {"beta": -0.00001234}, {"c": -1e16},
    {"mask": 3}, {"mask": "It's"}, {"mask": 'say "hi"'}, {"mask": "both ' and \""},
    {"mask": "a\nb\tc\\d\x00\x7f"}, {"mask": "é – 😀 \u3000\u200b"}, {"mask": "a   b"},
    {"seed": -1}, {"seed": 2**53}, {"seed": 1.5}, {"frozen": "all"}, {"norm": "layer"},
    {"wind": 1}, {"x" * 80: 1}, {"rank": 0, "gain": 200, "slope": -1, "noise": "much"},
    {"growth": 1, "norm": "mix"}, {"growth": 0, "norm": "mix"},
    {"encoding": "rope", "frozen": "renyi"}, {"encoding": "rope", "frozen": "renyi", "V": "x"},
    {"V": 3}, {"V": ""}, {"V": " I "}, {"V": "J"}, {"V": "1,2", "Q": "x", "K": "1;2,3"},
    {"d": 2, "V": "1,1,1"}, {"d": 2, "V": "1,2;3,4"}, {"d": 2, "V": "1,2;3,4;5,6"},
    {"d": 2, "V": "1;2"}, {"d": 3, "V": ";".join("1" * 12)}, {"V": "1e51"}, {"Q": "1e-51"},
    {"K": "1e400"}, {"V": "inf"}, {"d": 2, "V": "nan,1"}, {"d": 2, "V": "1,0;0,-inf"},
    {"V": "1/0"}, {"V": "1/2"}, {"V": "1/2/3"}, {"V": " 1/ 3"}, {"V": "1_000"}, {"V": "1__0"},
    {"V": "_1"}, {"V": ".5"}, {"V": "5."}, {"V": "."}, {"V": "1e"}, {"V": "+1e-2"}, {"V": "0x10"},
    {"V": "1001"}, {"V": "1e-7"}, {"d": 2, "Q": "1,1e-7;0,1"}, {"d": 2, "Q": "1.015625e4,1"},
    {"V": "0"}, {"V": "-0.0"}, {"V": "1," * 40}, {"V": "random:"}, {"V": "random:x"},
    {"V": "random:-1"}, {"V": "random:1.5"}, {"V": "random: 7 "}, {"V": "random:+7"},
    {"V": f"random:{2**53}"}, {"V": f"random:{LONG}"}, {"V": "Random:1"}, {"V": "1" * 70_000},
    {"V": "1,2;3"}, {"d": 65}, {"d": 2.5, "V": "x"}, [], "n=3", None, 3,
]  # fmt: skip


def with_script(page, script):
    """The page with a script, and what it knows of settings."""
    page.add_script_tag(content=script)
    page.evaluate("(known) => { globalThis.known = known; }", knowledge())
    return page


@pytest.fixture(scope="module")
def scripts(new_page):
    """A page with the scripts that check settings and judge runs."""
    return with_script(new_page(), page_script("check", "pace"))


@pytest.fixture(scope="module")
def texts(new_page):
    """A page with the scripts that make texts."""
    return with_script(new_page(), bundle(PAGE / "panels" / "texts.js"))


def by_python(values):
    try:
        Settings.read(values)
    except InputError as error:
        return error_data(error)
    return None


CHECK = """(values) => {
  try { $check.readSettings(values, known); return null; }
  catch (error) { if (!error.answer) throw error; return error.answer; }
}"""


def test_wrong_settings_get_the_same_sentences(scripts):
    result = scripts.evaluate(f"(all) => all.map({CHECK})", HOSTILE)
    assert sum(one is not None for one in result) > 60
    sent = scripts.evaluate("(all) => JSON.stringify(all)", HOSTILE)  # as a server would get it
    for values, mine in zip(json.loads(sent), result, strict=True):
        assert mine == by_python(values), values


def test_matrices_are_those_of_python(scripts):
    for text, d in [("I", 2), ("2", 3), ("1,1,-1/2", 3), ("0,-1;1,.5", 2), ("1/3", 2)]:
        matrices = scripts.evaluate(
            "(values) => $check.readSettings(values, known).matrices", {"d": d, "V": text}
        )
        expected = Settings(d=d, V=text).model.generator
        np.testing.assert_array_equal(np.reshape(matrices["V"], (d, d)), expected)
    drawn = scripts.evaluate(
        "(values) => $check.readSettings(values, known).matrices.V", {"V": "random:12"}
    )
    assert drawn == {"random": 12}


def test_numbers_are_written_as_by_python(texts):
    rng = np.random.default_rng(1)
    some = rng.standard_normal(200) * 10.0 ** rng.integers(-12, 20, 200)
    ties = [0.125, 2.5, 3.5, 1.015625, 0.01171875, 1000000.5, 999999.5, 1e5, 1e6, 1e22, 0.0001]
    for digits in (3, 6, 15):
        numbers = [*some.tolist(), *ties, 0.0, 1e-5, 123456.0, 1e60, 5e-324]
        result = texts.evaluate(
            "([all, digits]) => all.map((x) => $python.general(x, digits))", [numbers, digits]
        )
        assert result == [f"{x:.{digits}g}" for x in numbers]
    values = [1, 1.5, 1e16, 1e15 + 0.5, 1e21, 1.25e-5, -0.0001, 12345.678, "x", None, [True]]
    result = texts.evaluate("(all) => all.map($python.brief)", values)
    assert (
        result
        == [check.brief(json.loads(json.dumps(value))) for value in values[:2]]
        + [
            "10000000000000000",  # JSON has it without a fraction
            *(check.brief(value) for value in values[3:]),
        ]
    )


NAMED = [
    {}, {"n": 200, "d": 2, "beta": 64.0, "T": 1e60}, {"V": "1,1,-1", "Q": "random:3", "c": 2.5},
    {"beta": 0.0}, {"beta": 1.015625, "T": 12345.678}, {"mask": "full", "seed": 12},
    {"mask": "window", "reach": 7}, {"frozen": "strong", "d": 2, "beta": 64.0, "n": 50},
    {"V": ";".join([",".join(["0.123456789"] * 3)] * 3)},
    {"norm": "pre", "heads": 4, "rank": 2, "mlp": 8, "gain": 0.25, "sample": 3},
    {"encoding": "alibi", "slope": 0.015625, "growth": 3.0, "noise": 0.5, "beta": 1e-5},
]  # fmt: skip


def test_texts_are_those_of_python(texts):
    for values in NAMED:
        settings = Settings(**values)
        times = np.array([0.0, settings.T])
        start = settings.start
        run = Path(times, np.stack([start, start]), settings.model)
        result = texts.evaluate(
            "([settings, frozen]) => [$texts.labelOf(settings, known.fields), "
            "$texts.fileName(settings), $texts.factsOf(settings, known.fields, frozen)]",
            [settings.to_dict(), 0],
        )
        assert result[0] == describe.label(run, settings.model, settings)
        assert result[1] == describe.file_name(run, settings.model, settings)
        facts = describe.facts_of(run, settings.model, settings, None)
        assert list(result[2]) == list(facts)
        assert result[2] == pytest.approx(facts)


def test_every_formula_is_that_of_python(texts):
    names = {
        "mask": ("causal", "full", "window", "prefix"),
        "norm": ("post", "pre", "mix", "peri", "ngpt", "sqrt"),
        "encoding": ("none", "rope", "alibi"),
        "heads": (1, 3),
        "mlp": (0, 4),
        "growth": (0.0, 1.0),
        "noise": (0.0, 0.5),
    }
    every = [dict(zip(names, values, strict=True)) for values in itertools.product(*names.values())]
    allowed = [one for one in every if not (one["growth"] and one["norm"] == "mix")]
    rng = np.random.default_rng(1)
    chosen = [allowed[i] for i in rng.permutation(len(allowed))[:80]]
    chosen += [{}, {"mask": "full"}, {"mlp": 4, "gain": 0.0}, {"noise": 1e-50}]
    some = [Settings(d=2, reach=5, slope=0.25, T=10.0, **one) for one in chosen]
    result = texts.evaluate(
        "(all) => all.map((one) => $texts.formulaOf(one, known.fields, known.formula))",
        [one.to_dict() for one in some],
    )
    for settings, mine in zip(some, result, strict=True):
        assert mine == equation(settings.model, settings.growth > 0), settings


SERIES = {
    "explicit steps to a near end": ("explicit", 1e6, 1e-6, {}, lambda k: 10.0 * k),
    "explicit steps of the same length": ("explicit", 1e9, 1e-6, {}, lambda k: 10.0 * k),
    "explicit steps, strict": ("explicit", 1e30, 1e-8, {}, lambda k: 100.0 + 1e-3 * k),
    "hardly any progress": ("explicit", 1e30, 1e-6, {}, lambda k: 7.0 + 1e-9 * k),
    "decades": ("implicit", 1e60, 1e-6, {}, lambda k: (3.0 ** (1 / 8)) ** k),
    "implicit steps of the same length": ("implicit", 1e60, 1e-6, {}, float),
    "implicit steps, to a near end": ("implicit", 1e4, 1e-6, {}, lambda k: 200.0 * k),
    "slow steps": ("implicit", 1e60, 1e-6, {"seconds": 0.3}, float),
    "tokens that turn": ("implicit", 1e12, 1e-6, {"turning": 0.5}, float),
    "noise": ("splitting", 1e3, 1e-6, {"fewest": 3e6}, lambda k: 0.1 * k),
}


@pytest.mark.parametrize("pieces", [1, 3])
@pytest.mark.parametrize("series", SERIES)
def test_runs_without_end_are_judged_as_by_python(series, pieces, scripts):
    """The same steps, times and efforts, and the same spans of models: the same sentences."""
    method, t_end, tol, changes, time_of = SERIES[series]
    effort = {"seconds": 6e-4, "fewest": 0.0, "turning": 0.0} | changes
    marks = [(900 * k, time_of(k)) for k in range(1, 60)]
    spans = {marks[20 * i][0]: [marks[20 * i][1], marks[20 * i + 20][1]] for i in range(pieces - 1)}
    if pieces > 1:
        spans[marks[40][0]] = [marks[40][1], t_end]
    judge = pace.Pace(method, t_end, tol, pace.Effort(**effort))
    expected = []
    for steps, t in marks:
        if steps in spans:
            judge.begin(steps, tuple(spans[steps]))
        expected.append([judge.judge(steps, t).partition(";")[0], judge.room(steps)])
    result = scripts.evaluate(
        """([method, end, tol, effort, marks, spans]) => {
          const pace = new $pace.Pace(method, end, tol, effort, shared.pace);
          return marks.map(([steps, t]) => {
            if (spans[steps]) pace.begin(steps, spans[steps]);
            return [pace.judge(steps, t), pace.room(steps)];
          });
        }""",
        [method, t_end, tol, effort, marks, spans],
    )
    assert result == expected


def test_some_series_are_stopped_and_some_are_not():
    stopped = 0
    for method, t_end, tol, changes, time_of in SERIES.values():
        judge = pace.Pace(method, t_end, tol, pace.Effort(**({"seconds": 6e-4} | changes)))
        stopped += any(judge.judge(900 * k, time_of(k)) for k in range(1, 60))
    assert 4 <= stopped < len(SERIES)
