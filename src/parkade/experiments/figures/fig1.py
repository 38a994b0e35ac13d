"""Figure 1: where tokens on the sphere end, for one value matrix per row of Table 1."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from parkade import theory
from parkade.base.errors import doubts_do_not_matter
from parkade.experiments.figures.item import Item, Job, Made
from parkade.model import sphere
from parkade.model.attention import Attention
from parkade.solve.simulate import simulate
from parkade.theory.paper import FIGURE_1, PANELS

_, N, BETA, T = FIGURE_1


@dataclass(frozen=True)
class Variant:
    """The figure of the paper, or one that changes what should not matter, or does."""

    name: str
    title: str
    statement: str
    t_end: float = T
    gaussian: bool = False
    """Take random Q and K instead of I."""


VARIANTS = (
    Variant(
        "fig1",
        "Figure 1: trajectories on S² for every row of Table 1",
        "V's spectrum decides where tokens go: to one point, to two, or into clouds.",
    ),
    Variant(
        "fig1-late",
        "Figure 1, continued to t = 10⁹",
        "Theorem 4.1: for V = I all tokens end at x_1(0).",
        t_end=1e9,
    ),
    Variant(
        "fig1-qk",
        "Figure 1 with random Q and K",
        "Q and K do not matter for the final configuration.",
        t_end=1e60,
        gaussian=True,
    ),
)


def make(variant: Variant, job: Job) -> Made:
    """Simulate every panel from the same random start and draw them."""
    from parkade import plots
    from parkade.analysis.sentences import APART
    from parkade.plots import style
    from parkade.plots.ending import draw_ending

    rng = np.random.default_rng(job.seed)
    start = sphere.uniform(N, 3, rng)
    Q, K = rng.standard_normal((2, 3, 3)) if variant.gaussian else (np.eye(3), np.eye(3))
    # What never comes to rest takes steps for ever: a complex pair, and for general Q and K
    # also clouds.
    restless = {"rotation": T}
    if variant.gaussian:
        restless = dict.fromkeys(("rotation", "cloud", "two clouds"), 200.0)
    figure = plots.new_figure(style.PAGE, 5.9)
    rows = []
    with style.context():
        panels = zip(PANELS.items(), figure.subplots(2, 3).flat, strict=True)
        for i, ((name, V), ax) in enumerate(panels):
            kind = theory.final_configuration(V).kind
            t_end = min(variant.t_end, restless.get(kind, np.inf))
            with doubts_do_not_matter():
                run = simulate(Attention(V=V, beta=BETA, Q=Q, K=K), start, t_end)
            rows.append([name, *draw_ending(run, name, ax)])
            job.report((i + 1) / len(PANELS))
        handles, labels = ax.get_legend_handles_labels()
        names = {label: "end" for label in labels if label.startswith("t = ")} | {"t = 0": "start"}
        figure.legend(
            handles,
            [names.get(label, label) for label in labels],
            loc="outside lower center",
            ncols=len(labels),
        )
    late = ""
    if variant.t_end > T:
        late = f" ({min(restless.values()):g} where the motion never ends)"
    caption = (
        f"Trajectories of n = {N} tokens on S², β = {BETA:g}, "
        f"{'Gaussian K and Q' if variant.gaussian else 'K = Q = I'}, from one random start to "
        f"t = {_time(variant.t_end)}{late}. "
        "Final positions red, hollow behind the sphere; "
        "L, the eigenspace of the largest real part, green. "
        f"Tokens closer than {APART:g} rad count as one point."
    )
    return Made(
        parameters={
            "d": "3", "n": f"{N}", "β": f"{BETA:g}",
            "Q, K": "Gaussian" if variant.gaussian else "I", "T": _time(variant.t_end),
            "seed": f"{job.seed}",
        },
        measured="; ".join(f"{value}: {seen}" for value, _, seen in rows) + ".",
        pictures=[job.save(figure, variant.name, caption)],
        numbers={value: seen for value, _, seen in rows},
    )  # fmt: skip


def _time(t: float) -> str:
    return f"{t:g}".replace("e+0", "e").replace("e+", "e")


ITEMS = tuple(
    Item(variant.name, variant.title, variant.statement, partial(make, variant))
    for variant in VARIANTS
)
