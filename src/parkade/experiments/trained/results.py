"""Everything a report is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import parkade
from parkade.base import check
from parkade.base.progress import Report
from parkade.experiments.trained.tables import heads_dict
from parkade.trained.measures.measured import Measured
from parkade.trained.study import ABLATIONS, Iterated, Survey, ablate, iterations, survey

if TYPE_CHECKING:
    import xarray

    from parkade.trained.model import Trained

ABLATED = 6
"""Texts that changed models read."""

ITERATED = 4
"""Texts that are iterated."""


@dataclass(frozen=True)
class Material:
    """The texts of a report.

    Attributes
    ----------
    texts : sequence of str
        Those that are measured.
    others : sequence of str
        Those that serve for centring only, needed if one text is measured.
    """

    texts: Sequence[str]
    others: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class StudyResults:
    """All measurements of a trained model.

    Attributes
    ----------
    model : Trained
    texts : list of str
        The texts that were measured.
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
    texts: Sequence[str]
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
            "read": list(self.texts),
            "heads": heads_dict(self.heads),
            "survey": self.survey.to_dict(),
            "ablations": {name: one.to_dict() for name, one in self.ablations.items()},
            "times": self.times,
            "iterated": [one.to_dict() for one in self.iterated],
        }  # fmt: skip


def study(
    model: Trained,
    material: Material,
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
    material : Material
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
    texts, others = material.texts, material.others
    measured = survey(model, texts, others, seed=seed, report=part(0.1, end))
    changed, iterated = {}, []
    if ablations:
        few = texts[:ABLATED]
        changed = ablate(model, few, ablations, others, seed=seed, report=part(end, end + 0.25))
    if times:
        few = texts[:ITERATED]
        iterated = iterations(precise or model, few, times, report=part(0.75, 1.0))
    report(1.0)
    return StudyResults(model, texts, heads, measured, changed, iterated, times, seed)


def different(model: Trained, heads: xarray.Dataset) -> xarray.Dataset:
    """The heads of layers with different weights: tied layers count once."""
    which = [model.shape.weights_of(i) for i in range(model.layers)]
    return heads.isel(layer=[which.index(first) for first in dict.fromkeys(which)])
