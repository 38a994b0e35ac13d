"""The first clusters that tokens form on the circle, from a start that is almost uniform.

Let the density of the tokens be proportional to 1 + ε cos kφ. Since e^{β cos φ} is I_0 + 2 Σ I_k
cos kφ, the velocity is −ε (k I_k/β) sin kφ, so ε grows at the rate k² I_k(β)/β if the weights are
not normalised. The softmax divides by Z = I_0 + O(ε), and the velocity has no term without ε, so
then the rate is k² I_k/(β I_0). Both favour the same k. If the start is close enough to uniform,
only this wave is left when the tokens gather.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from parkade.base.errors import doubts_do_not_matter
from parkade.base.types import Array
from parkade.experiments.claim import Claim, Evidence
from parkade.experiments.claims.common.plateau import cluster_counts
from parkade.experiments.experiment import Figure, Setup
from parkade.experiments.statistics import LEVEL
from parkade.model import sphere
from parkade.model.attention import Attention
from parkade.model.parts.head import Head
from parkade.model.transformer import Transformer
from parkade.solve.simulate import simulate

CLAIMED = {5.0: 3, 7.0: 4, 64.0: 11}
"""Clusters of the first state, by β."""

MODES = np.arange(1, 21)
N = 200
NOISE = 1e-12
"""Standard deviation of the displacement of a token from its place on the regular polygon."""

LARGE = 0.3
"""A Fourier coefficient of this size ends the linear phase."""

PUSH, EQUAL = 1e-4, 1e-6
"""Amplitude of a wave for measuring its rate, and the allowed error of rates, of the largest."""

SURE = 0.9
"""The number of clusters is tested if it follows from the linear phase with this probability."""

LASTING, AFTER, FRAMES = 4.0, 25.0, 120
"""Time that a state must last, time after the linear phase, and number of counts in it."""


def rates(beta: float, softmax: bool = True) -> Array:
    """The claimed growth rates of waves with `MODES` periods."""
    from scipy.special import ive

    size = ive(MODES, beta) / (ive(0, beta) if softmax else math.exp(-beta))
    result: Array = MODES**2 * size / beta
    return result


def measured_rates(beta: float, softmax: bool = True) -> Array:
    """Growth rates, from velocities of a polygon whose tokens are displaced by a wave."""
    kind = "softmax" if softmax else "unnormalised"
    model = Transformer([Head(d=2, beta=beta)], mask="full", attention=kind)
    phi = 2 * math.pi * np.arange(N) / N
    result = np.empty(len(MODES))
    for i, k in enumerate(MODES):
        wave = np.cos(k * phi)
        slope = np.zeros(N)
        for sign in (1, -1):
            angles = phi + sign * PUSH / k * wave
            v = model.velocity(sphere.from_angles(angles))
            slope += sign * (v[:, 1] * np.cos(angles) - v[:, 0] * np.sin(angles))
        result[i] = slope @ wave / (2 * PUSH / k * (wave @ wave))
    return result


def measure(setup: Setup) -> Evidence:
    """Measure growth rates, then count the clusters of first states."""
    betas = setup.choose([5.0, 7.0], list(CLAIMED))
    runs = setup.choose(2, 12)
    right, error = True, 0.0
    counts: dict[float, list[int]] = {}
    chances: dict[float, float] = {}
    measured: dict[float, Array] = {}
    shown: tuple[Array, Array] = (np.empty(0), np.empty(0))
    for i, beta in enumerate(betas):
        for softmax in (False, True):
            measured[beta] = measured_rates(beta, softmax)
            claimed = rates(beta, softmax)
            error = max(error, float(np.abs(measured[beta] - claimed).max() / claimed.max()))
            right &= int(MODES[np.argmax(measured[beta])]) == CLAIMED[beta]
        chances[beta] = chance(beta, setup.generator(i))
        counts[beta] = []
        for run in setup.part(i, len(betas)).each(range(runs)):
            times, angles = gather(beta, setup.generator(i, run))
            counts[beta].append(first_count(times, angles, beta))
            if beta == 7.0 and run == 0:
                shown = times, angles
    hits = {beta: sum(c == CLAIMED[beta] for c in counts[beta]) for beta in betas}
    unlikely = {beta: probability(hits[beta], runs, chances[beta]) for beta in betas}
    sure = [beta for beta in betas if chances[beta] >= SURE]
    good = right and error < EQUAL and all(unlikely[b] > LEVEL / len(CLAIMED) for b in sure)
    return Evidence(
        verdict="agrees" if good else "contradicts",
        measured=f"rates to {error:.0e}; "
        + ", ".join(f"{hits[beta]}/{runs} (β={beta:g})" for beta in betas),
        false_alarm=LEVEL,
        numbers={
            "largest_error_of_rates": error,
            "tokens": N,
            "noise": NOISE,
            "runs": runs,
            "counts": {f"{beta:g}": counts[beta] for beta in betas},
            "chance_by_linear_theory": {f"{beta:g}": chances[beta] for beta in betas},
            "probability_of_so_few": {f"{beta:g}": unlikely[beta] for beta in betas},
        },
        data={"rates": measured, "counts": counts, "run": shown},
    )


def start(rng: np.random.Generator) -> Array:
    """Angles of a regular polygon, displaced a little."""
    phi: Array = 2 * math.pi * np.arange(N) / N + NOISE * rng.standard_normal(N)
    return phi


def linear_time(beta: float) -> float:
    """The length of the linear phase for a typical start."""
    k = CLAIMED[beta]
    return math.log(LARGE * math.sqrt(N) / (k * NOISE)) / float(rates(beta)[k - 1])


def chance(beta: float, rng: np.random.Generator) -> float:
    """The probability that the claimed wave is the largest at the end of the linear phase."""
    # The k-th Fourier coefficient is k · NOISE/√N times a complex normal variable.
    first = np.linalg.norm(rng.standard_normal((2, 20_000, len(MODES))), axis=0)
    grown = np.log(MODES * first) + rates(beta) * linear_time(beta)
    return float(np.mean(MODES[np.argmax(grown, axis=1)] == CLAIMED[beta]))


def gather(beta: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Times and angles of a run, from shortly before the end of the linear phase."""
    linear = linear_time(beta)
    times = np.linspace(0.8 * linear, linear + AFTER, FRAMES)
    model = Attention(d=2, beta=beta, mask="full")
    # Steps must resolve displacements that begin at NOISE.
    with doubts_do_not_matter():  # rounding adds a little to the noise
        run = simulate(model, sphere.from_angles(start(rng)), times[-1], times=times, tol=NOISE)
    return times, sphere.angles(run.tokens)


def first_count(times: Array, angles: Array, beta: float) -> int:
    """The first number of clusters that lasts, after the polygon has broken."""
    radius = 0.3 / math.sqrt(beta)  # tokens of the polygon are closer, so it counts as one
    counts = cluster_counts(sphere.from_angles(angles), radius)
    broken = int(np.argmax(counts > 1))
    for i in range(broken, len(counts)):
        same = (times >= times[i]) & (times <= times[i] + LASTING)
        if counts[i] > 1 and (counts[same] == counts[i]).all():
            return int(counts[i])
    return 0


def probability(hits: int, runs: int, chance: float) -> float:
    """The probability of so few hits."""
    from scipy.stats import binom

    return float(binom.cdf(hits, runs, chance))


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw the growth rates, a run, and how many clusters runs have."""
    from parkade.plots import style

    left, middle, right = figure.subplots(1, 3)
    betas = list(evidence.data["rates"])
    colors = dict(zip(betas, (style.BLUE, style.VERMILLION, style.GREEN), strict=False))
    for beta, measured in evidence.data["rates"].items():
        left.plot(MODES, rates(beta), color=colors[beta], linewidth=1)
        left.plot(MODES, measured, "o", color=colors[beta], markersize=2.5, label=f"β = {beta:g}")
        best = CLAIMED[beta]
        left.plot(
            best, rates(beta)[best - 1], "o", color=colors[beta], markersize=6, fillstyle="none"
        )
    left.set(xlabel="periods k of a wave", ylabel="growth rate", xlim=(0, 20.5), ylim=(0, None))
    left.set_title("$k^2 I_k(β)/βI_0(β)$")
    left.legend()
    times, angles = evidence.data["run"]
    for track in angles.T[::4]:
        jumps = np.abs(np.diff(track, prepend=track[0])) > math.pi
        middle.plot(times, np.where(jumps, np.nan, track), color=style.BLUE, linewidth=0.3)
    middle.set(xlabel="time t", ylabel="angle", title="a run with β = 7", ylim=(-math.pi, math.pi))
    width = 0.8 / len(betas)
    for i, beta in enumerate(betas):
        tally = Counter(evidence.data["counts"][beta])
        place = np.array(list(tally)) - CLAIMED[beta]
        share = np.array(list(tally.values())) / len(evidence.data["counts"][beta])
        right.bar(place + (i - (len(betas) - 1) / 2) * width, share, width, color=colors[beta])
    right.set(xlabel="clusters − claimed", ylabel="share of runs")
    right.set(xlim=(-3.5, 3.5), ylim=(0, 1.05), title="the first state")


CLAIM = Claim(
    name="first-state",
    title="Full attention, circle, almost uniform: the fastest wave sets the clusters",
    paper="2410.23228",
    status="theorem",
    prediction="k² I_k(β) is largest: " + ", ".join(f"{k} (β={b:g})" for b, k in CLAIMED.items()),
    measure=measure,
    draw=draw,
)
