"""Lemma 5.1: a token that starts far from all earlier ones stays for a guaranteed time."""

from __future__ import annotations

import numpy as np

from parkade import theory
from parkade.base.types import Array
from parkade.experiments.claim import Claim, Evidence
from parkade.experiments.experiment import CAUSAL_CLUSTERING, Figure, Setup
from parkade.model import sphere
from parkade.model.attention import Attention
from parkade.runs.trajectory import Trajectory
from parkade.solve.simulate import simulate

BETAS = (16.0, 64.0, 256.0)
EPSILONS = (0.1, 0.5)
TOKENS = (50, 100, 200)

HORIZON = 1e6
"""Tokens are followed until here; a guarantee that lasts longer is checked up to here."""

SHORT = 1e3
"""Guarantees up to here are compared with how long a token really stays, because the run is at
least 1000 times as long. Only the guarantee decides which are compared, so there is no bias."""


def measure(setup: Setup) -> Evidence:
    """Follow every token to which the lemma applies."""
    starts = setup.choose(2, 6)
    runs = [(beta, n, s) for beta in BETAS for n in TOKENS for s in range(starts)]
    rows = []
    for beta, n, s in setup.each(runs):
        start = sphere.uniform(n, 2, setup.generator(int(beta), n, s))
        run = simulate(Attention(d=2, beta=beta), start, HORIZON)
        rows += [(beta, *row) for eps in EPSILONS for row in follow(run, eps)]
    beta_of, guaranteed, share, stayed = np.array(rows).T
    worst = float(share.max())
    short = guaranteed <= SHORT
    factor = stayed[short] / guaranteed[short]
    return Evidence(
        verdict="agrees" if worst < 1 else "contradicts",
        measured=f"moves {worst:.2f} radii at most; stays {np.median(factor):.0f}× longer",
        false_alarm=0.0,  # the lemma holds for every start
        numbers={
            "centers": len(rows),
            "runs": len(runs),
            "largest_share_of_radius": worst,
            "guaranteed_beyond_horizon": int(np.sum(guaranteed > HORIZON)),
            "median_stay_over_guarantee": float(np.median(factor)),
            "least_stay_over_guarantee": float(factor.min()),
            "never_left": int(np.sum(stayed[short] == HORIZON)),
            "horizon": HORIZON,
        },
        data={"beta": beta_of, "guaranteed": guaranteed, "share": share, "stayed": stayed},
    )


def follow(run: Trajectory, eps: float) -> list[tuple[float, float, float]]:
    """Guaranteed time, largest move until then in radii, and time until it leaves the radius."""
    stay = theory.strong_center_guarantee(run.tokens[0], run.model.sharpness, eps)
    # The first token never moves, so its guarantee says nothing.
    who = np.flatnonzero(~np.isnan(stay.time))[1:]
    end = np.minimum(stay.time[who], run.times[-1])
    times = _between(run.times, end)
    moved = sphere.distance(run.at(times)[:, who], run.tokens[0, who]) / stay.radius[who]
    until = np.where(times[:, None] <= end, moved, 0.0).max(axis=0)
    outside = moved >= 1
    left = np.where(outside.any(axis=0), times[outside.argmax(axis=0)], run.times[-1])
    return list(zip(stay.time[who].tolist(), until.tolist(), left.tolist(), strict=True))


def _between(steps: Array, extra: Array) -> Array:
    """All steps, times within each, and some extra times, so that no excursion is missed."""
    inside = [steps[:-1] + share * np.diff(steps) for share in (0.25, 0.5, 0.75)]
    return np.unique(np.concatenate([steps, *inside, extra]))


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw how far and how long tokens stay, against the guaranteed time."""
    from parkade.plots import style

    data = evidence.data
    far, long = figure.subplots(1, 2)
    shown = data["guaranteed"] <= HORIZON
    gone = data["stayed"] < HORIZON
    colors = (style.GREEN, style.BLUE, style.VERMILLION)
    for beta, color in zip(BETAS, colors, strict=True):
        for ax, y, also, face in (
            (far, data["share"], True, color),
            (long, data["stayed"], gone, color),
            (long, data["stayed"], ~gone, "none"),
        ):
            some = shown & (data["beta"] == beta) & also
            label = f"β = {beta:g}" if also is gone else None
            ax.scatter(
                data["guaranteed"][some], y[some], s=7, facecolors=face, edgecolors=color,
                linewidths=0.4, alpha=0.7, label=label, rasterized=True,
            )  # fmt: skip
    low = data["guaranteed"].min() / 2
    far.axhline(1, color=style.BLACK, linewidth=0.8)
    far.text(HORIZON, 1.2, "allowed", va="bottom", ha="right")
    far.set(xscale="log", yscale="log", xlim=(low, HORIZON), ylim=(1e-6, 5))
    far.set(xlabel="guaranteed time T", ylabel="largest move until T, in radii")
    far.set_title("radius: εcβ$^{-1/2}$")
    long.plot([low, HORIZON], [low, HORIZON], color=style.BLACK, linewidth=0.8)
    long.set(xscale="log", yscale="log", xlim=(low, HORIZON), ylim=(low, 3 * HORIZON))
    long.set(xlabel="guaranteed time T", ylabel="time until it leaves the radius")
    long.legend(loc="lower right", markerscale=1.5)
    long.set_title(f"hollow: still there at t = {style.number(HORIZON)}")


CLAIM = Claim(
    name="lemma-5.1",
    title="Strong centres stay within εcβ^(−1/2) for the guaranteed time",
    paper=CAUSAL_CLUSTERING,
    status="lemma",
    prediction="moves less than 1 radius",
    measure=measure,
    draw=draw,
)
