"""What claims on trained models share: models that are on this machine, texts, and their level.

A claim never downloads. Where a model is missing it is undecided and says what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.engine.compile.threads import single_threaded_blas
from parkade.experiments.claim import Evidence
from parkade.experiments.experiment import Figure, Setup

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from parkade.trained.model import Trained

ALL = ("stories15M", "SmolLM2-135M", "MiniLM-L6", "ALBERT-rxn")
SMALL = ("ALBERT-rxn",)
"""The models of full and of quick experiments."""

ALARM = 1e-3
"""The largest probability that such a claim is contradicted although it is true: texts are few."""

Measure: TypeAlias = "Callable[[list[Trained], Setup], Evidence]"
Draw: TypeAlias = Callable[[Evidence, Figure], None]


def missing(names: Sequence[str]) -> list[str]:
    """The models that are not on this machine."""
    from parkade.trained.packages import find

    absent = []
    for name in names:
        try:
            find(name)
        except InputError:
            absent.append(name)
    return absent


def on_models(
    measure: Measure, *, small: Sequence[str] = SMALL, all_: Sequence[str] = ALL
) -> Callable[[Setup], Evidence]:
    """The experiment on these models, or the command that gets the first missing one."""

    def run(setup: Setup) -> Evidence:
        from parkade.trained import load

        names = setup.choose(small, all_)
        absent = missing(names)
        if absent:
            return Evidence(
                verdict="undecided",
                measured=f"first: parkade trained --get {absent[0]}",
                false_alarm=0.0,
                numbers={"missing": absent},
            )
        with single_threaded_blas():
            return measure([load(name, dtype="float64") for name in names], setup)

    return run


def texts_for(model: Trained, count: int | None = None) -> list[str]:
    """Texts that suit a model."""
    from parkade.trained.texts import kind_for, texts

    return list(texts(kind_for(model.shape.vocabulary)))[:count]


def states_of(model: Trained, texts: Sequence[str]) -> list[Array]:
    """Hidden states of texts, centred by the mean of the others, without sinks."""
    from parkade.trained.study.read import clipped, clouds

    read = [model.read(clipped(model, text)).hidden.astype(np.float64) for text in texts]
    return clouds(read)[2]


def interval(sample: Array, probability: float) -> tuple[float, float]:
    """An interval that misses the mean of independent normal numbers with this probability."""
    from scipy.stats import t

    error = float(sample.std(ddof=1)) / len(sample) ** 0.5
    reach = float(t.isf(probability / 2, len(sample) - 1)) * error
    return float(sample.mean()) - reach, float(sample.mean()) + reach


def unless_missing(draw: Draw) -> Draw:
    """Draw the evidence, or write instead that a model is missing."""

    def fill(evidence: Evidence, figure: Figure) -> None:
        if "missing" in evidence.numbers:
            ax = figure.subplots()
            ax.text(0.5, 0.5, evidence.measured, ha="center", transform=ax.transAxes)
        else:
            draw(evidence, figure)

    return fill


def draw_over_depth(ax: Axes, measured: dict[str, Any], color: str, label: str) -> NDArray[Any]:
    """Draw the mean of a measure over texts and the band of 80% of them; return the layers."""
    layers = np.arange(len(measured["mean"]))
    ax.fill_between(layers, *measured["band"], color=color, alpha=0.25, linewidth=0)
    ax.plot(layers, measured["mean"], color=color, label=label)
    ax.set_xlabel("layer")
    return layers
