"""What holds tokens apart: the same texts read by models without some of their parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.progress import Report
from parkade.base.types import Array
from parkade.engine.compile.threads import single_threaded_blas
from parkade.trained import measures as ms
from parkade.trained.measures.measured import Measured
from parkade.trained.measures.prepare import directions
from parkade.trained.model import Trained
from parkade.trained.study.read import clipped, clouds

ABLATIONS: Mapping[str, Callable[[Trained, int], Trained]] = {
    "no-mlp": lambda model, seed: model.without("mlp"),
    "no-attention": lambda model, seed: model.without("attention"),
    "random-mlp": lambda model, seed: model.redrawn(seed, "mlp"),
    "random-values": lambda model, seed: model.redrawn(seed, "values"),
    "random": lambda model, seed: model.redrawn(seed, "all"),
    "shuffled": lambda model, seed: model.shuffled(seed),
}
"""Changed models by name. They are off the distribution that the weights were trained for."""


def ablate(
    model: Trained,
    texts: Sequence[str],
    names: Sequence[str],
    others: Sequence[str] = (),
    *,
    seed: int = 0,
    report: Report = lambda fraction: None,
) -> dict[str, Measured]:
    """The centred mean cosine over depth in changed models, beside that of the trained one.

    Parameters
    ----------
    model : Trained
    texts : sequence of str
    names : sequence of str
        Keys of `ABLATIONS`.
    others : sequence of str
        Texts that serve for centring only; needed if there is one text.
    seed : int
        Seed of the random weights.
    report : function
        Takes the fraction done.

    Returns
    -------
    dict of Measured
        By name, (texts, L+1); the null "trained" is the model as it is.
    """
    chosen = check.chosen("the ablation", list(names), ABLATIONS)
    if len(texts) + len(others) < 2:
        raise InputError(f"an ablation needs at least two texts, got {len(texts)}; add others")
    ids = [clipped(model, text) for text in (*texts, *others)]
    done = 0

    def cosines(changed: Trained) -> Array:
        nonlocal done
        states = []
        for one in ids:
            states.append(changed.read(one).hidden.astype(np.float64))
            done += 1
            report(done / (len(ids) * (1 + len(chosen))))
        units = [directions(x) for x in clouds(states)[2][: len(texts)]]
        return np.array([[ms.mean_cosine(layer) for layer in x] for x in units])

    with single_threaded_blas():
        trained = cosines(model)
        return {
            name: Measured(
                f"mean cosine, centred: {name}",
                cosines(ABLATIONS[name](model, seed)),
                {"trained": trained},
            )
            for name in dict.fromkeys(names)
        }
