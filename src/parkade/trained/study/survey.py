"""`Survey`: what the hidden states of texts show, and the survey of a trained model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from parkade.base import late
from parkade.base.errors import InputError
from parkade.base.numbers import counted
from parkade.base.types import Array
from parkade.trained import measures as ms
from parkade.trained.measures.measured import Measured
from parkade.trained.measures.together import Together
from parkade.trained.study.hidden import HiddenText

if TYPE_CHECKING:
    import pandas as pd

    from parkade.explorer.standalone.export import Page


TOO_SHORT = (
    "what centres predict was not measured: no text has tokens that are no centres and have a "
    "matched one"
)
"""The note of texts that `capture` cannot judge."""


@dataclass(frozen=True, eq=False, repr=False)
class Survey:
    """What the hidden states of texts show: each measure with its nulls.

    `parkade.trained.measure` makes it of states from anywhere, and a report has one of its texts.

    Attributes
    ----------
    model : str
        The name of the model; empty if it is not known.
    hidden : list of HiddenText
        The states that were measured, with their words, and with attention if it was passed.
    sinks : list of int arrays
        Which tokens of each text are sinks; they are left out where a measure says so.
    curves : dict of Measured
        Measures over depth, (texts, L+1).
    centers : dict of Measured
        Shares of strong and of Rényi centres, (texts, L+1), centred and without sinks. Empty if
        there is one text alone, since nothing can be centred then.
    captured : Measured or None
        The error of the nearest earlier centre as a prediction, (texts,). None if nothing can be
        centred, or if texts are too short for it.
    pulled : Measured or None
        Whether tokens move to earlier ones, (texts, L). None if nothing can be centred.
    attention : Measured or None
        Attention of later tokens to the first one, mean over heads, (texts, L). None without
        attention.
    sink_heads : (L,) array or None
        Share of heads in each layer for which that is above 0.3, mean over texts.
    lengths : Measured
        Median length of tokens, and that of the longest over the median, (texts, L+1, 2).
    losses : (texts,) array or None
        In nats for each token; None for encoders, and if the model is not known.
    notes : tuple of str
        What was left out or done before measuring, in sentences.

    Examples
    --------
    >>> import numpy as np
    >>> import parkade as pk
    >>> rng = np.random.default_rng(0)
    >>> survey = pk.trained.measure([rng.standard_normal((5, 30, 8)) for _ in range(3)])
    >>> survey.texts, sorted(survey.centers), survey.notes
    (3, ['renyi', 'strong'], ())
    >>> cosine = survey.curves["mean cosine, centred"]
    >>> cosine.values.shape, bool(survey.scalars()["mean cosine, centred/last"] == cosine.mean[-1])
    ((3, 5), True)
    """

    model: str
    hidden: Sequence[HiddenText]
    sinks: Sequence[NDArray[np.int64]]
    curves: Mapping[str, Measured]
    centers: Mapping[str, Measured]
    captured: Measured | None
    pulled: Measured | None
    attention: Measured | None
    sink_heads: Array | None
    lengths: Measured
    losses: Array | None = None
    notes: Sequence[str] = ()

    def __repr__(self) -> str:
        layers = len(self.hidden[0].states) - 1
        by = f" by {self.model}" if self.model else ""
        lines = [f"Survey({counted(self.texts, 'text')}{by}, {counted(layers, 'layer')})"]
        for name, one in self.curves.items():
            nulls = ", ".join(f"{n} {one.null_mean(n)[-1]:.3g}" for n in one.nulls)
            lines.append(f"  {name}: {one.mean[0]:.3g} → {one.mean[-1]:.3g} ({nulls})")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])

    @property
    def texts(self) -> int:
        """Number of texts in the survey."""
        return len(self.hidden)

    @property
    def words(self) -> list[list[str]]:
        """The tokens of each text."""
        return [list(one.words) for one in self.hidden]

    @property
    def measures(self) -> dict[str, Measured]:
        """All measures in every layer, by name."""
        listed = {
            **self.curves,
            "strong centres, share": self.centers.get("strong"),
            "Rényi centres, share": self.centers.get("renyi"),
            "pull of earlier tokens": self.pulled,
            "attention to the first token": self.attention,
        }
        return {name: one for name, one in listed.items() if one is not None}

    def to_dict(self) -> dict[str, Any]:
        """All numbers, for JSON."""
        measured = {"captured": self.captured, "pulled": self.pulled, "attention": self.attention}
        return {
            "model": self.model,
            "texts": self.texts,
            "tokens": [len(one.words) for one in self.hidden],
            "notes": list(self.notes),
            "sinks": [indices.tolist() for indices in self.sinks],
            "losses": None if self.losses is None else self.losses.tolist(),
            "curves": {name: one.to_dict() for name, one in self.curves.items()},
            "centers": {name: one.to_dict() for name, one in self.centers.items()},
            **{name: None if one is None else one.to_dict() for name, one in measured.items()},
            "sink_heads": None if self.sink_heads is None else self.sink_heads.tolist(),
            "lengths": self.lengths.to_dict(),
        }

    def scalars(self) -> dict[str, float]:
        """The main numbers in one flat dict, as loggers of training runs take them.

        Each measure in the first, the middle and the last layer, its nulls in the last layer, and
        the probabilities p against them.
        """
        numbers: dict[str, float] = {"texts": float(self.texts)}
        for name, one in self.measures.items():
            places = {"first": 0, "middle": len(one.mean) // 2, "last": -1}
            numbers |= {f"{name}/{place}": float(one.mean[i]) for place, i in places.items()}
            for null in one.nulls:
                numbers[f"{name}/last/{null}"] = float(one.null_mean(null)[-1])
                numbers[f"{name}/last/p {null}"] = float(one.p(null)[-1])
        if self.captured is not None:
            numbers["error of the nearest centre"] = float(self.captured.mean)
            numbers |= {
                f"error of the nearest centre/{null}": float(self.captured.null_mean(null))
                for null in self.captured.nulls
            }
        return numbers

    def to_dataframe(self) -> pd.DataFrame:
        """Every value of every measure: a row for each measure, text and layer.

        The columns are "measure", "text", "layer", "value", and one for each null.
        """
        import pandas as pd

        return pd.DataFrame(list(self._rows()))

    def _rows(self) -> Iterator[dict[str, Any]]:
        for name, one in self.measures.items():
            for text, layer in np.ndindex(*one.values.shape):
                nulls = {null: values[text, layer] for null, values in one.nulls.items()}
                about = {"measure": name, "text": text, "layer": layer}
                yield {**about, "value": one.values[text, layer], **nulls}

    def show(self, text: int = 0) -> Page:
        """A text in the explorer: its tokens with their words, layer by layer, and attention.

        Parameters
        ----------
        text : int
            Its number, from 0.
        """
        if text not in range(self.texts):
            raise InputError(f"text must be a number from 0 to {self.texts - 1}, got {text!r}")
        one = self.hidden[text]
        layers = len(one.states) - 1
        title = f"{counted(len(one.words), 'token')} through {counted(layers, 'layer')}"
        title += f" of {self.model}" if self.model else ""
        attention = None if one.attention is None else one.attention[:layers]
        mask = "causal" if one.causal else "full"
        return cast("Page", late.call("show_text", one.path(), title, attention, mask))


def surveyed(
    model: str,
    hidden: Sequence[HiddenText],
    measured: Together,
    attended: Sequence[tuple[Array, float]],
    **more: Any,
) -> Survey:
    """A survey of measured states.

    Parameters
    ----------
    model : str
    hidden : list of HiddenText
    measured : Together
    attended : list of ((L, H) array, float)
        For each text the attention to the first token, and what even heads would pay; empty
        without attention.
    **more
        Losses and notes.
    """
    attention = sink_heads = None
    if attended:
        means = np.array([scores.mean(axis=1) for scores, _ in attended])
        even = np.array([np.full(len(scores), null) for scores, null in attended])
        attention = Measured("attention to the first token", means, {"even": even})
        shares = [[ms.sink_share(row) for row in scores] for scores, _ in attended]
        sink_heads = np.mean(shares, axis=0)
    return Survey(
        model,
        hidden,
        measured.sinks,
        measured.curves,
        measured.centers,
        measured.captured,
        measured.pulled,
        attention,
        sink_heads,
        measured.lengths,
        **more,
    )
