"""The number of metastable clusters grows like β^{(d−1)/2}; with V, like β^{(d₁−1)/2}.

Attraction has a range of β^{-1/2}, so about as many clusters fit on the sphere as balls of that
size. For a general V the tokens first approach the span of its d₁ leading eigenvectors, and d₁
takes the place of d: the effective dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from parkade import theory
from parkade.base.types import Array
from parkade.experiments.claim import Claim, Evidence, Judgement
from parkade.experiments.claims.common import plateau
from parkade.experiments.experiment import CAUSAL_CLUSTERING, Figure, Setup
from parkade.experiments.statistics import LEVEL, Exponent, fit_exponent, mean, worst
from parkade.model.attention import Attention


@dataclass(frozen=True)
class BetaSeries:
    """A value matrix, and the inverse temperatures at which its clusters are counted."""

    V: Sequence[float]
    betas: Sequence[float]
    runs: int = 16
    n: int = 200

    @property
    def label(self) -> str:
        """V as it is written in the figure."""
        if len(set(self.V)) == 1:
            return f"d = {len(self.V)}, V = I"
        return f"d = {len(self.V)}, V = diag({', '.join(f'{v:g}' for v in self.V)})"

    @property
    def expected(self) -> float:
        """The exponent that the paper expects."""
        return theory.effective_exponent(np.diag(self.V))


CIRCLE = BetaSeries([1, 1], (32, 64, 128, 256, 512))
BALL = BetaSeries([1, 1, 1], (16, 32, 64, 128), runs=8)
LEADING = (
    BetaSeries([1, 1, 0.5, 0.5], (32, 64, 128, 256), runs=8),
    BetaSeries([1, 1, 1, 0.5], (16, 32, 64, 128), runs=8),
)


def measure(series: Sequence[BetaSeries], setup: Setup) -> Evidence:
    """Count the clusters on the plateau for every β, and fit the exponent of each series."""
    chosen = [setup.choose((s.betas[0], s.betas[-1]), s.betas) for s in series]
    total = sum(len(betas) + (not setup.quick) for betas in chosen)
    probability = LEVEL / len(series)
    done = 0
    fits: list[Exponent] = []
    rows: list[dict[str, object]] = []

    def count(s: BetaSeries, beta: float, n: int, stream: tuple[int, ...]) -> Array:
        nonlocal done
        model, runs = Attention(V=s.V, beta=beta), setup.choose(8, s.runs)
        counts = plateau.count(model, n, runs, setup.generator(*stream))
        done += 1
        setup.report(done / total)
        return counts

    for i, (s, betas) in enumerate(zip(series, chosen, strict=True)):
        n = setup.choose(s.n // 2, s.n)
        counts = [count(s, beta, n, (i, int(beta))) for beta in betas]
        flat = plateau.find(counts)
        samples = [c[:, flat.middle] for c in counts]
        means = [mean(sample) for sample in samples]
        fit = fit_exponent(betas, samples)
        fits.append(fit)
        rows.append(
            {
                "V": list(s.V),
                "n": n,
                "runs": len(samples[0]),
                "expected": s.expected,
                "exponent": fit.value,
                "error": fit.error,
                "reach95": fit.reach(0.05),
                "reach": fit.reach(probability),
                "prefactor": fit.prefactor,
                "chi2": fit.chi2,
                "beta": list(betas),
                "clusters": [m.value for m in means],
                "errors": [m.error for m in means],
                "time": float(plateau.TIMES[flat.middle]),
                "fall": flat.fall,
            }
        )
        if not setup.quick:
            # If there are enough tokens, half of them give about the same number of clusters.
            half = count(s, betas[-1], n // 2, (i, 0))
            rows[-1]["clusters of half the tokens"] = list(mean(half[:, flat.middle]))
    verdicts = [
        _judge(fit, s.expected, fit.reach(probability)) for fit, s in zip(fits, series, strict=True)
    ]
    return Evidence(
        verdict=worst(verdicts),
        measured=", ".join(f"β^({fit.value:.2f} ± {fit.reach(0.05):.2f})" for fit in fits),
        false_alarm=LEVEL,
        numbers={"series": rows},
    )


def _judge(fit: Exponent, expected: float, reach: float) -> Judgement:
    """Whether a fit agrees with the exponent of its own dimension and with no other."""
    gap = abs(fit.value - expected)
    if gap > reach:
        return "contradicts"
    # The exponents of neighbouring dimensions differ by 1/2: the fit must separate them.
    return "agrees" if gap + reach < 0.5 else "undecided"


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw clusters against β, with the fitted power law and the expected slope."""
    from parkade.plots import style

    ax = figure.subplots()
    for row, color, marker in zip(
        evidence.numbers["series"], (style.BLUE, style.VERMILLION), "os", strict=False
    ):
        beta = np.array(row["beta"])
        series = BetaSeries(row["V"], row["beta"])
        ax.errorbar(
            beta, row["clusters"], [1.96 * e for e in row["errors"]],
            fmt=marker, color=color, markersize=4, capsize=2, label=f"{series.label}: measured",
        )  # fmt: skip
        ax.plot(
            beta, row["prefactor"] * beta ** row["exponent"], color=color, linewidth=1,
            label=f"fit: exponent {row['exponent']:.2f} ± {row['reach95']:.2f} (95%)",
        )  # fmt: skip
        middle = np.exp(np.log(beta).mean())
        level = row["prefactor"] * middle ** row["exponent"]
        ax.plot(
            beta, level * (beta / middle) ** row["expected"],
            color=style.GREY, linestyle="dashed", linewidth=0.9,
            label=f"slope {row['expected']:g}, as the paper expects",
        )  # fmt: skip
    ax.set(xscale="log", yscale="log", xlabel="β", ylabel="clusters on the plateau")
    ticks = sorted({beta for row in evidence.numbers["series"] for beta in row["beta"]})
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    levels = [1, 2, 3, 5, 10, 20, 30, 50]
    shown = ax.get_ylim()
    ax.set_yticks(levels, [str(level) for level in levels])
    ax.set_ylim(shown)
    ax.minorticks_off()
    ax.legend()


def _claim(name: str, title: str, series: Sequence[BetaSeries], height: float = 2.7) -> Claim:
    return Claim(
        name=name,
        title=title,
        paper=CAUSAL_CLUSTERING,
        status="conjecture" if len(series) > 1 else "observed",
        prediction=", ".join(f"β^{s.expected:g}" for s in series),
        measure=partial(measure, series),
        draw=draw,
        height=height,
    )


CLAIMS = (
    _claim("clusters-d2", "The number of metastable clusters on the circle", [CIRCLE]),
    _claim("clusters-d3", "The number of metastable clusters on S²", [BALL]),
    _claim("dimension", "V's leading eigenvectors decide: the effective dimension", LEADING, 3.0),
)
