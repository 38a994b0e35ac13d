"""Experiments that take no time, for tests of the framework."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from matplotlib.lines import Line2D

from parkade.experiments.claim import Claim, Evidence
from parkade.experiments.exhibit import Exhibit
from parkade.experiments.experiment import OURS, Finding, Setup
from parkade.experiments.output import Table


@dataclass(frozen=True)
class Fewer(Setup):
    """A quick setup with a share of the runs, draws or samples: as many as its tests need."""

    share: int = 2

    def choose(self, quick, full):
        """The quick number, divided."""
        return quick // self.share if isinstance(quick, int) else quick


def fewer(share):
    """A fixture `quick`: a quick setup with this share of its numbers."""

    @pytest.fixture(scope="module", name="quick")
    def fixture(quick):
        return Fewer(quick.quick, quick.seed, quick.report, share=share)

    return fixture


def measured(module, **changes):
    """A fixture `evidence`: that of a claim's module, with some of its constants changed for it."""

    @pytest.fixture(scope="module", name="evidence")
    def fixture(quick):
        with pytest.MonkeyPatch.context() as patch:
            for name, value in changes.items():
                patch.setattr(module, name, value)
            return module.measure(quick)

    return fixture


def changed(module, **changes):
    """A fixture: these constants of a module are changed for all tests of a file."""

    @pytest.fixture(scope="module", autouse=True)
    def fixture():
        with pytest.MonkeyPatch.context() as patch:
            for name, value in changes.items():
                patch.setattr(module, name, value)
            yield

    return fixture


def computed_once(patch, owner, name, key):
    """Compute a function once for each key of its arguments; every time if the key is None."""
    known, function = {}, getattr(owner, name)

    def once(*args):
        of_call = key(*args)
        if of_call is None:
            return function(*args)
        if of_call not in known:
            known[of_call] = function(*args)
        return known[of_call]

    patch.setattr(owner, name, once)


def with_a_sixth_of_the_tokens(series):
    """Series of lives with fewer tokens: most are in clusters before late merges begin."""
    return tuple(replace(one, n=one.n // 6) for one in series)


def draw(finding, figure):
    """A line. Axes and their labels would take most of the time of these experiments."""
    figure.add_artist(Line2D([0, 1], [0, finding.numbers["x"]]))


def fake_claim(name, verdict="agrees", fail=None):
    """A claim about a random number."""

    def measure(setup):
        setup.report(0.5)
        if fail:
            raise fail
        number = float(setup.generator(1).random())
        return Evidence(
            verdict=verdict,
            measured=f"{number:.3f} ± 0.001",
            false_alarm=1e-6,
            numbers={"x": number},
        )

    return Claim(
        name=name, title=f"The title of {name}", paper=OURS, status="lemma",
        prediction="a number", measure=measure, draw=draw,
    )  # fmt: skip


def fake_exhibit(name, fail=None):
    """A figure of a random number, with a table and a text. Its `measure.calls` counts."""

    def measure(setup):
        measure.calls += 1
        setup.report(0.5)
        if fail:
            raise fail
        number = float(setup.generator(1).random())
        return Finding(
            measured=f"x = {number:.3f} & more.",
            numbers={"x": number},
            parameters={"seed": f"{setup.seed}"},
            caption=f"The caption of {name}.",
            tables=[
                Table([["n", "x"], ["1", f"{number:.3f}"]], f"{name}.csv"),
                Table([["<only>", "on the page"], ["a", "b"]]),
            ],
            texts={f"{name}.txt": "β\n"},
        )

    measure.calls = 0
    return Exhibit(
        name=name, title=f"The title of {name}", paper=OURS, statement=f"The paper on {name}.",
        measure=measure, draw=draw,
    )  # fmt: skip


def replace_all(monkeypatch: pytest.MonkeyPatch, registry, experiments):
    """Put these experiments in the place of all in a registry."""
    for name in reversed(list(registry)):  # it is undone backwards: in the order they had
        monkeypatch.delitem(registry, name)
    for experiment in experiments:
        monkeypatch.setitem(registry, experiment.name, experiment)
