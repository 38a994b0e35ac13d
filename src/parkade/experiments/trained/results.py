"""Everything a report is made of, and its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import parkade
from parkade.base import check
from parkade.base.numbers import counted
from parkade.base.progress import Report
from parkade.trained.measures.capture import CAPTURE_RULES
from parkade.trained.measures.measured import Measured
from parkade.trained.study import ABLATIONS, Iterated, Survey, ablate, iterations, survey

if TYPE_CHECKING:
    import xarray

    from parkade.trained.model import Trained

WORDS = {
    "two points": "real, > 0",
    "rotation": "complex",
    "two clouds": "real, < 0",
    "outside": "Re ≤ 0, complex",
}
"""Rows of Table 1, and what the leading eigenvalue is in each."""

ABLATED = 6
"""Texts that changed models read."""

ITERATED = 4
"""Texts that are iterated."""


@dataclass(frozen=True, eq=False)
class StudyResults:
    """All measurements of a trained model.

    Attributes
    ----------
    model : Trained
    heads : Dataset
        See `Trained.heads`; layers that share their weights once.
    survey : Survey
        Hidden states over depth.
    ablations : dict of Measured
        See `parkade.trained.study.ablate`.
    iterated : list of Iterated
    times : int
        Number of times that layers were applied.
    seed : int
    """

    model: Trained
    heads: xarray.Dataset
    survey: Survey
    ablations: Mapping[str, Measured] = field(default_factory=dict)
    iterated: Sequence[Iterated] = ()
    times: int = 0
    seed: int = 0

    def to_dict(self) -> dict[str, Any]:
        """All numbers, for JSON."""
        m = self.model
        return {
            "parkade": parkade.__version__,
            "model": {
                "name": m.name, "family": m.family, "d": m.d, "layers": m.layers,
                "heads": m.head_count, "causal": m.causal,
            },
            "seed": self.seed,
            "heads": heads_dict(self.heads),
            "survey": self.survey.to_dict(),
            "ablations": {name: one.to_dict() for name, one in self.ablations.items()},
            "times": self.times,
            "iterated": [one.to_dict() for one in self.iterated],
        }  # fmt: skip


def study(
    model: Trained,
    texts: Sequence[str],
    *,
    ablations: Sequence[str] = (),
    times: int = 0,
    precise: Trained | None = None,
    seed: int = 0,
    report: Report = lambda fraction: None,
) -> StudyResults:
    """Measure everything.

    Parameters
    ----------
    model : Trained
    texts : sequence of str
    ablations : sequence of str
        Keys of `ABLATIONS`; the first six texts are read by each changed model.
    times : int
        Number of times that layers are applied to the first four texts; 0 leaves it out.
    precise : Trained, optional
        The same model in double precision, for the iteration.
    seed : int
    report : function
        Takes the fraction done.
    """

    def part(low: float, high: float) -> Report:
        return lambda fraction: report(low + (high - low) * fraction)

    check.chosen("the ablation", list(ablations), ABLATIONS)
    heads = different(model, model.heads(seed=seed))
    report(0.1)
    end = 1.0 - 0.25 * bool(ablations) - 0.25 * bool(times)
    measured = survey(model, texts, seed=seed, report=part(0.1, end))
    changed, iterated = {}, []
    if ablations:
        few = texts[:ABLATED]
        changed = ablate(model, few, ablations, seed=seed, report=part(end, end + 0.25))
    if times:
        few = texts[:ITERATED]
        iterated = iterations(precise or model, few, times, report=part(0.75, 1.0))
    report(1.0)
    return StudyResults(model, heads, measured, changed, iterated, times, seed)


def in_words(results: StudyResults) -> tuple[str, str]:
    """The model, and the texts that it has read, in a phrase each."""
    model, survey = results.model, results.survey
    kind = "causal" if model.causal else "encoder"
    loss = "" if survey.losses is None else f"; loss {survey.losses.mean():.2f} nats a token"
    return (
        f"{model.family}, {kind}, {counted(model.layers, 'layer')} of "
        f"{counted(model.head_count, 'head')}, d = {model.d}",
        f"{counted(survey.texts, 'text')}, {sum(map(len, survey.words))} tokens{loss}; "
        f"{counted(sum(map(len, survey.sinks)), 'sink')}",
    )


def different(model: Trained, heads: xarray.Dataset) -> xarray.Dataset:
    """The heads of layers with different weights: tied layers count once."""
    which = [model.shape.weights_of(i) for i in range(model.layers)]
    return heads.isel(layer=[which.index(first) for first in dict.fromkeys(which)])


def kinds(heads: xarray.Dataset) -> dict[str, tuple[float, float]]:
    """The share of heads in each row of Table 1, and of random heads of the same shape."""
    trained, drawn = heads["kind"].values, heads["random_kind"].values
    return {
        name: (float(np.mean(trained == name)), float(np.mean(drawn == name))) for name in WORDS
    }


def quantiles(values: NDArray[Any]) -> str:
    """The quantiles 10, 50 and 90%."""
    low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
    return f"{low:.3g}, {middle:.3g}, {high:.3g}"


def heads_dict(heads: xarray.Dataset) -> dict[str, Any]:
    """The heads, for JSON."""
    return {
        "count": int(heads["kind"].size),
        "random": int(heads["random_kind"].size),
        "kinds": {n: {"trained": a, "random": b} for n, (a, b) in kinds(heads).items()},
        **{
            name: heads[name].values.tolist()
            for name in ("kind", "balance", "balance_holm", "beta", "symmetric", "rank", "size")
        },
        "random_balance_sd": float(heads["random_balance"].std()),
    }


def heads_rows(heads: xarray.Dataset) -> list[list[str]]:
    """A table of the heads beside random ones."""
    count, drawn = heads["kind"].size, heads["random_kind"].size
    spread = float(heads["random_balance"].std())
    rows = [["heads", f"trained ({count})", f"random ({drawn})"]]
    for name, (share, null) in kinds(heads).items():
        rows.append([f"{name} (λ {WORDS[name]})", f"{share:.2f}", f"{null:.2f}"])
    balance = heads["balance"].values
    far = float(np.mean(heads["balance_holm"].values < 0.05))
    return [
        *rows,
        ["balance Σλ/Σ|λ|, least … most", f"{balance.min():.2f} … {balance.max():.2f}",
         f"0 ± {spread:.2f}"],
        ["balance beyond chance (Holm, 5%)", f"{far:.2f}", "≤ 0.05 of such tables"],
        ["effective β, 10, 50, 90%", quantiles(heads["beta"].values), "–"],
        ["symmetric share of QᵀK, 10, 50, 90%", quantiles(heads["symmetric"].values),
         f"0.5 ± {float(heads['random_symmetric'].std()):.3f}"],
    ]  # fmt: skip


def depth_rows(survey: Survey) -> list[list[str]]:
    """A table of the measures over depth: at the start, in the middle, and at the end."""
    rows = [["over depth", "first", "middle", "last", "null, last layer", "p"]]
    measured = {
        **survey.curves,
        "strong centres, share": survey.centers["strong"],
        "Rényi centres, share": survey.centers["renyi"],
        "pull of earlier tokens": survey.pulled,
        "attention to the first token": survey.attention,
    }
    for name, one in measured.items():
        mean = one.mean
        for i, null in enumerate(one.nulls):
            cells = [f"{mean[j]:.3g}" for j in (0, len(mean) // 2, -1)]
            rows.append(
                [*([name, *cells] if i == 0 else ["", "", "", ""]),
                 f"{null} {one.null_mean(null)[-1]:.3g}", f"{one.p(null)[-1]:.2g}"]
            )  # fmt: skip
    return rows


def capture_rows(survey: Survey) -> list[list[str]]:
    """A table of what predicts the company of a token at the end."""
    one = survey.captured
    return [
        ["where tokens go: named by the first layer", "error", "p against the centre"],
        [CAPTURE_RULES["centre"], f"{float(one.mean):.3f}", ""],
        *([CAPTURE_RULES[name], f"{float(one.null_mean(name)):.3f}", f"{float(one.p(name)):.2g}"]
          for name in one.nulls),
    ]  # fmt: skip


def ablation_rows(ablations: Mapping[str, Measured]) -> list[list[str]]:
    """A table of changed models."""
    return [
        ["mean cosine, centred, last layer", "changed", "trained", "texts", "p"],
        *([name, f"{one.mean[-1]:.2f}", f"{one.null_mean('trained')[-1]:.2f}", str(one.texts),
           f"{one.p('trained')[-1]:.2g}"]
          for name, one in ablations.items()),
    ]  # fmt: skip


def iteration_rows(iterated: Sequence[Iterated], times: int) -> list[list[str]]:
    """A table of iterated layers; the last column counts clusters."""
    return [
        ["layer", "text", "tokens", f"end, after {times} times", "cos > 0.9"],
        *([str(one.layer), str(one.text + 1), str(one.tokens), one.sentence, str(one.close)]
          for one in iterated),
    ]  # fmt: skip
