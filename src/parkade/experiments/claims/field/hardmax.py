"""Hardmax attention in R^d: every token ends at a leader, or at a mean of leaders.

Token i moves a part of the way to the mean of the tokens with the largest ⟨x_i, x_j⟩. A *leader*
attends to itself only: ⟨x_i, x_j⟩ < |x_i|² for all other j. It rests, and the others move to means
of tokens, for which the inequality holds as well, so it leads for ever.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from parkade.base.types import Array
from parkade.experiments.claim import Claim, Evidence
from parkade.experiments.experiment import Figure, Setup

DIMENSIONS = (2, 3, 8)
ALPHAS = (0.1, 1.0, 10.0)
TOKENS = 40

NEAR = 1e-9
"""Largest move of a leader, and by how much it must be ahead of the others, so that no rounding
error makes one."""

AT = 1e-5
"""Distance at which a token has arrived: those that follow a follower take longer."""


class HardmaxRun(NamedTuple):
    """The path of a run, and where its tokens end."""

    path: Array
    """Tokens before each layer, (layers + 1, n, d)."""
    moved: float
    """The farthest that a leader is in the end from where it began to lead."""
    off: Array
    """Distance of each token at the end from the nearest leader, (n,)."""
    mean_off: Array
    """The same from the mean of the leaders that it attends to, (n,)."""
    leads: NDArray[np.bool_]
    """Whether each token leads at the end, (n,)."""


def attended(x: Array, tie: float = 0.0) -> NDArray[np.bool_]:
    """Which tokens each token attends to, (n, n): those with the largest product, up to `tie`."""
    scores = x @ x.T
    top = scores.max(axis=1, keepdims=True)
    result: NDArray[np.bool_] = scores >= top - tie * (1 + np.abs(top))
    return result


def layer(x: Array, alpha: float) -> Array:
    """The tokens after one layer."""
    whom = attended(x)
    means = whom @ x / whom.sum(axis=1, keepdims=True)
    moved: Array = (x + alpha * means) / (1 + alpha)
    return moved


def follow(x: Array, alpha: float, layers: int) -> HardmaxRun:
    """Pass tokens through layers, and watch the leaders."""
    path = [x]
    led = np.zeros(len(x), dtype=np.bool_)
    first = x.copy()  # where leaders were when they began to lead
    for _ in range(layers):
        new = _leads(x) & ~led
        first[new] = x[new]
        led |= new
        x = layer(x, alpha)
        path.append(x)
    moved = float(np.linalg.norm(x - first, axis=1)[led].max(initial=0.0))
    gaps = np.linalg.norm(x[:, None] - x[led], axis=2)
    whom = attended(x, AT) & led  # at the end rounding errors decide about ties
    means = whom @ x / np.maximum(whom.sum(axis=1, keepdims=True), 1)
    apart = np.linalg.norm(x - means, axis=1)
    return HardmaxRun(np.array(path), moved, gaps.min(axis=1, initial=np.inf), apart, led)


def _leads(x: Array) -> NDArray[np.bool_]:
    """Whether each token attends to itself only."""
    whom = attended(x, NEAR)
    alone: NDArray[np.bool_] = np.diag(whom) & (whom.sum(axis=1) == 1)
    return alone


def mirrored(d: int, rng: np.random.Generator) -> Array:
    """Tokens that are symmetric in the last axis, some of them on the plane between."""
    half = rng.standard_normal((TOKENS // 2 - 5, d))
    half[:, -1] += np.copysign(2.0, half[:, -1])  # so that most leaders are in pairs
    between = np.column_stack([rng.standard_normal((10, d - 1)) / 2, np.zeros(10)])
    return np.concatenate([half, half * np.append(np.ones(d - 1), -1.0), between])


def measure(setup: Setup) -> Evidence:
    """Run random tokens, and symmetric ones for which products are equal."""
    tries = setup.choose(3, 30)
    runs: dict[str, list[HardmaxRun]] = {"random": [], "symmetric": []}
    cases = [(d, alpha, k) for d in DIMENSIONS for alpha in ALPHAS for k in range(tries)]
    for d, alpha, k in setup.each(cases):
        rng = setup.generator(d, int(10 * alpha), k)
        # Distances shrink by 1 + α in a layer. At 1e-16 followers would count as leaders.
        layers = int(30 / np.log1p(alpha)) + 2
        runs["random"].append(follow(rng.standard_normal((TOKENS, d)), alpha, layers))
        runs["symmetric"].append(follow(mirrored(d, rng), alpha, layers))
    moved = max(run.moved for group in runs.values() for run in group)
    at_leaders = {name: np.concatenate([r.off < AT for r in v]) for name, v in runs.items()}
    worst = max(
        float(np.minimum(r.off, r.mean_off).max()) for group in runs.values() for r in group
    )
    means = int(np.sum(~at_leaders["symmetric"]))
    counts = [len(np.unique(np.round(r.path[-1][r.leads], 6), axis=0)) for r in runs["random"]]
    good = moved < NEAR and worst < AT
    return Evidence(
        verdict="contradicts" if not good else "agrees" if means else "undecided",
        measured=f"off by {worst:.0e}; {at_leaders['random'].mean():.0%} at leaders; "
        f"tied: {means / at_leaders['symmetric'].size:.0%} at means",
        false_alarm=0.0,  # it is for all starts
        numbers={
            "runs": 2 * len(cases),
            "largest move of a leader": moved,
            "worst distance from a leader or a mean": worst,
            "share at leaders": {k: float(v.mean()) for k, v in at_leaders.items()},
            "tokens at means of leaders": means,
            "mean number of leaders": {
                str(d): float(np.mean([c for c, case in zip(counts, cases, strict=True)
                                       if case[0] == d]))
                for d in DIMENSIONS
            },
        },
        data={"random": runs["random"][: len(ALPHAS) * tries], "symmetric": runs["symmetric"][0],
              "tries": tries},
    )  # fmt: skip


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw the paths of tokens in the plane, and how fast they approach."""
    from parkade.plots import style

    plain, tied, rate = figure.subplots(1, 3)
    pictures = ((plain, evidence.data["random"][0]), (tied, evidence.data["symmetric"]))
    for ax, run in pictures:
        for way in run.path.transpose(1, 0, 2):
            ax.plot(*way.T, color=style.BLUE, linewidth=0.5)
        ax.plot(*run.path[0].T, ".", color=style.GREY, markersize=3)
        ends = run.path[-1]
        ax.plot(*ends[run.off > AT].T, "s", color=style.BLACK, markersize=4)
        ax.plot(*ends[run.leads].T, "o", color=style.VERMILLION, markersize=4)
        ax.set_aspect("equal")
    plain.set_title("random start")
    tied.set_title("symmetric: also means (squares)")
    tries = evidence.data["tries"]
    for i, (alpha, color) in enumerate(
        zip(ALPHAS, (style.BLUE, style.GREEN, style.VERMILLION), strict=True)
    ):
        path = evidence.data["random"][i * tries].path
        gap = np.linalg.norm(path - path[-1], axis=2).max(axis=1)
        layers = np.arange(len(gap))
        rate.plot(layers, gap, color=color, linewidth=1, label=f"α = {alpha:g}")
        rate.plot(layers, gap[0] * (1 + alpha) ** -layers, ":", color=color, linewidth=0.8)
    rate.set(yscale="log", ylim=(1e-12, 10), xlim=(0, 150), xlabel="layer k")
    rate.set(ylabel="largest distance from the end", title="dotted: (1 + α)$^{-k}$")
    rate.legend()


CLAIM = Claim(
    name="hardmax",
    title="Hardmax: tokens end at leaders, or means of leaders, which never move",
    paper="2407.01602",
    status="theorem",
    prediction="every token at a leader or a mean of leaders",
    measure=measure,
    draw=draw,
)
