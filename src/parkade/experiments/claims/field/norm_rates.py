"""A normalisation is a clock: it decides how fast tokens become one in the end."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from parkade.base.types import Array
from parkade.experiments.claim import Claim, Evidence
from parkade.experiments.experiment import Figure, Setup
from parkade.model import sphere
from parkade.model.parts.head import Head
from parkade.model.parts.norm import NGPT, Mix, Norm, read
from parkade.model.transformer import Transformer
from parkade.solve.simulate import simulate


class Scheme(NamedTuple):
    """A normalisation and its clock: the variance falls like e^{−2·clock}, or e^{−clock}."""

    norm: Norm
    label: str
    times: Callable[[Array], Array]
    """The time as a function of the clock."""


ALPHA = 0.5

SCHEMES: tuple[Scheme, ...] = (
    Scheme(read("post"), "post: t", lambda c: c),
    Scheme(read("pre"), "pre: ln t", np.exp),
    Scheme(Mix(tau=3.0), "mix: ln t", np.exp),
    Scheme(read("peri"), "peri: ln t", np.exp),
    Scheme(NGPT(alpha=ALPHA), "nGPT: αt", lambda c: c / ALPHA),
    Scheme(read("sqrt"), "sqrt: 2√t", lambda c: c**2 / 4),
)

EXPONENTS = {"full": 2.0, "causal": 1.0}
"""Minus the slope of the logarithm of the variance against the clock."""

# Under the full mask all differences decay at one rate. Under the causal mask the second token
# relaxes at rate 1/2 and the third at 2/3, so a fit must wait until only the former is left.
WINDOWS = {"full": (12.0, 22.0), "causal": (36.0, 50.0)}
"""First and last value of the clock for the fits: variances of about 1e-10 … 1e-20."""

ALLOWED = {"full": 0.02, "causal": 0.05}
"""Relative error of a slope: for √(t+1) instead of √t, and for the third token."""

SIZES = ((12, 4, 1.0), (8, 3, 0.5), (24, 8, 2.0), (8, 2, 1.0))
"""Number of tokens n, dimension d and β of each start."""

TOL = 1e-12


def hemisphere(n: int, d: int, rng: np.random.Generator) -> Array:
    """Uniform tokens on a hemisphere, which all reach one point.

    The second is the farthest from the first: it is the slowest under the causal mask, and the
    closer it starts, the later the variance is that of the slowest.
    """
    x = sphere.uniform(n, d, rng)
    x[:, 0] = np.abs(x[:, 0])
    far = int(np.argmin(x @ x[0]))
    x[[1, far]] = x[[far, 1]]
    return x


def variance(tokens: Array) -> Array:
    """1 − |mean|², from differences, so that small values have all their digits."""
    n = tokens.shape[-2]
    i, j = np.triu_indices(n, 1)
    gaps = tokens[..., i, :] - tokens[..., j, :]
    result: Array = np.sum(gaps * gaps, axis=(-2, -1)) / n**2
    return result


def measure(setup: Setup) -> Evidence:
    """Fit the decay of the variance for every normalisation under both masks."""
    sizes = SIZES[: setup.choose(1, len(SIZES))]
    slopes: dict[str, dict[str, list[float]]] = {mask: {} for mask in EXPONENTS}
    curves: dict[str, dict[str, tuple[Array, Array]]] = {mask: {} for mask in EXPONENTS}
    cases = [(mask, scheme) for mask in EXPONENTS for scheme in SCHEMES]
    for mask, scheme in setup.each(cases):
        first, last = WINDOWS[mask]
        clock = np.linspace(0.5, last, 100)
        late = clock >= first
        fitted = slopes[mask].setdefault(scheme.label, [])
        for k, (n, d, beta) in enumerate(sizes):
            model = Transformer([Head(d=d, beta=beta)], norm=scheme.norm, mask=mask)
            times = scheme.times(clock)
            x0 = hemisphere(n, d, setup.generator(k))
            # The clocks slow down or the run is short: no need for implicit steps.
            run = simulate(model, x0, times[-1], times=times, tol=TOL, method="explicit")
            spread = variance(run.tokens)
            fitted.append(-float(np.polyfit(clock[late], np.log(spread[late]), 1)[0]))
            curves[mask].setdefault(scheme.label, (clock, spread))
    off = {
        mask: max(abs(s / EXPONENTS[mask] - 1) for one in slopes[mask].values() for s in one)
        for mask in EXPONENTS
    }
    good = all(off[mask] <= ALLOWED[mask] for mask in EXPONENTS)
    ranges = {mask: [s for one in slopes[mask].values() for s in one] for mask in EXPONENTS}
    return Evidence(
        verdict="agrees" if good else "contradicts",
        measured=", ".join(
            f"{min(all_):.3f} … {max(all_):.3f} ({mask})" for mask, all_ in ranges.items()
        ),
        false_alarm=0.0,  # the rates hold for almost every start
        numbers={
            "starts": len(sizes),
            "exponents": slopes,
            "expected": EXPONENTS,
            "largest_relative_error": off,
            "allowed": ALLOWED,
        },
        data=curves,
    )


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw the variance against the clock of each normalisation."""
    from parkade.plots import style

    colors = (style.BLUE, style.VERMILLION, style.GREEN)
    styles = [(color, line) for line in ("-", "--") for color in colors]
    for ax, mask in zip(figure.subplots(1, 2, sharey=True), EXPONENTS, strict=True):
        for (label, (clock, spread)), (color, line) in zip(
            evidence.data[mask].items(), styles, strict=True
        ):
            ax.plot(clock, spread, color=color, linestyle=line, linewidth=1, label=label)
        first, last = WINDOWS[mask]
        ends = np.array([first, last])
        highest = max(spread[clock >= first][0] for clock, spread in evidence.data[mask].values())
        guide = 20 * highest * np.exp(-EXPONENTS[mask] * (ends - first))
        ax.plot(ends, guide, color=style.BLACK, linewidth=1.2)
        slope = "-2" if math.isclose(EXPONENTS[mask], 2) else "-"
        text = f" $e^{{{slope}\\,\\mathrm{{clock}}}}$"
        ax.text(ends.mean(), float(np.sqrt(guide.prod())), text, va="bottom")
        ax.set(yscale="log", xlabel="clock", title=f"{mask} attention")
    figure.axes[0].set(ylabel="variance of the tokens")
    figure.axes[0].legend(title="scheme and its clock", title_fontsize=7)


CLAIM = Claim(
    name="norm-rates",
    title="The normalisation decides how fast tokens become one (causal: ours)",
    paper="2510.22026",
    status="derived",
    prediction="variance e^(−2·clock) (full), e^(−clock) (causal)",
    measure=measure,
    draw=draw,
    height=3.0,
)
