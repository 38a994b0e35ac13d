"""Figure 1: where tokens on the sphere end, for one value matrix per row of Table 1."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from parkade import theory
from parkade.analysis import sentences
from parkade.base.errors import doubts_do_not_matter
from parkade.experiments.exhibit import Exhibit
from parkade.experiments.experiment import CAUSAL_CLUSTERING, OURS, Figure, Finding, Setup
from parkade.model import sphere
from parkade.model.attention import Attention
from parkade.solve.simulate import simulate
from parkade.theory.paper import FIGURE_1, PANELS

_, N, BETA, T = FIGURE_1


def measure(setup: Setup, t_end: float = T, gaussian: bool = False) -> Finding:
    """Simulate every panel from the same random start, with Q = K = I or with random ones."""
    rng = np.random.default_rng(setup.seed)
    start = sphere.uniform(N, 3, rng)
    Q, K = rng.standard_normal((2, 3, 3)) if gaussian else (np.eye(3), np.eye(3))
    # Where the motion never ends, the steps never become long: for a complex pair, and for
    # general Q and K also for clouds.
    restless = {"rotation": T}
    if gaussian:
        restless = dict.fromkeys(("rotation", "cloud", "two clouds"), 200.0)
    runs = {}
    seen = {}
    for name, V in setup.each(list(PANELS.items())):
        final = theory.final_configuration(V)
        until = min(t_end, restless.get(final.kind, np.inf))
        with doubts_do_not_matter():
            runs[name] = simulate(Attention(V=V, beta=BETA, Q=Q, K=K), start, until)
        seen[name] = sentences.seen(final, runs[name].final)
    late = ""
    if t_end > T:
        late = f" ({min(restless.values()):g} where the motion never ends)"
    return Finding(
        measured="; ".join(f"{name}: {what}" for name, what in seen.items()) + ".",
        numbers=seen,
        data={"runs": runs},
        parameters={
            "d": "3", "n": f"{N}", "β": f"{BETA:g}",
            "Q, K": "Gaussian" if gaussian else "I", "T": _time(t_end),
            "seed": f"{setup.seed}",
        },
        caption=(
            f"Trajectories of n = {N} tokens on S², β = {BETA:g}, "
            f"{'Gaussian K and Q' if gaussian else 'K = Q = I'}, from one random start to "
            f"t = {_time(t_end)}{late}. "
            "Final positions red, hollow behind the sphere; "
            "L, the eigenspace of the largest real part, green. "
            f"Tokens closer than {sentences.APART:g} rad count as one point."
        ),
    )  # fmt: skip


def _time(t: float) -> str:
    return f"{t:g}".replace("e+0", "e").replace("e+", "e")


def draw(finding: Finding, figure: Figure) -> None:
    """Draw every panel with what is expected and what is seen."""
    from parkade.plots.ending import draw_ending

    panels = zip(finding.data["runs"].items(), figure.subplots(2, 3).flat, strict=True)
    for (name, run), ax in panels:
        draw_ending(run, name, ax)
    handles, labels = ax.get_legend_handles_labels()
    names = {label: "end" for label in labels if label.startswith("t = ")} | {"t = 0": "start"}
    texts = [names.get(label, label) for label in labels]
    figure.legend(handles, texts, loc="outside lower center", ncols=len(labels))


PAPER = Exhibit(
    name="fig1",
    title="Figure 1: trajectories on S² for every row of Table 1",
    paper=CAUSAL_CLUSTERING,
    statement="V's spectrum decides where tokens go: to one point, to two, or into clouds.",
    measure=measure,
    draw=draw,
    height=5.9,
)
LATE = replace(
    PAPER,
    name="fig1-late",
    title="Figure 1, continued to t = 10⁹",
    paper=OURS,
    statement="Theorem 4.1: for V = I all tokens end at x_1(0).",
    measure=partial(measure, t_end=1e9),
)
ANY_ATTENTION = replace(
    PAPER,
    name="fig1-qk",
    title="Figure 1 with random Q and K",
    paper=OURS,
    statement="Q and K do not matter for the final configuration.",
    measure=partial(measure, t_end=1e60, gaussian=True),
)
