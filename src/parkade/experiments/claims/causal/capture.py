"""Theorem 5.2: frozen centres that are far enough apart capture every free token."""

from __future__ import annotations

import math

import numpy as np

from parkade.experiments.claim import Claim, Evidence
from parkade.experiments.claims.common.frozen import (
    Packing,
    Setting,
    distances,
    freeze,
    smallest_separation,
)
from parkade.experiments.experiment import CAUSAL_CLUSTERING, Figure, Setup
from parkade.model import sphere
from parkade.runs.trajectory import Trajectory

SHOWN = Setting(beta=64.0, eps=0.1, n=20, N=60)
SETTINGS = (
    SHOWN,
    Setting(beta=16.0, eps=0.1, n=20, N=60),
    Setting(beta=64.0, eps=0.02, n=50, N=200),
    Setting(beta=256.0, eps=0.05, n=20, N=80),
)
PACKINGS: tuple[Packing, ...] = ("dense", "parked", "lonely")

SEPARATIONS = (1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0)
"""Values of c outside the window, where the theorem says nothing: to see what happens there."""


def measure(setup: Setup) -> Evidence:
    """Freeze centres as close as the theorem allows, and see where the other tokens go."""
    tries, outside = setup.choose((3, 5), (8, 15))
    cases = [(s, p, k) for s in SETTINGS for p in PACKINGS for k in range(tries)]
    farthest, latest = 0.0, 0.0
    shown: dict[str, tuple[float, Trajectory]] = {}
    for setting, packing, k in setup.part(0, 2).each(cases):
        rng = setup.generator(SETTINGS.index(setting), PACKINGS.index(packing), k)
        run = freeze(setting, smallest_separation(setting), packing, rng)
        far = distances(run, setting.eps)
        farthest = max(farthest, float(far[-1].max()))
        still = np.flatnonzero((far > 1).any(axis=1))  # steps before the last token is captured
        captured = float(run.times[still[-1]]) if still.size else 0.0
        latest = max(latest, captured)
        if setting == SHOWN:
            shown.setdefault(packing, (captured, run))
    inside = np.empty((len(SEPARATIONS), outside))
    for i, k in setup.part(1, 2).each(list(np.ndindex(inside.shape))):
        run = freeze(SHOWN, SEPARATIONS[i], "parked", setup.generator(len(SETTINGS), i, k))
        inside[i, k] = np.mean(distances(run, SHOWN.eps)[-1] <= 1)
    return Evidence(
        verdict="agrees" if farthest < 1 else "contradicts",
        measured=f"at most {farthest:.1g} of that; the last captured at t={latest:.0e}",
        false_alarm=0.0,  # starts that fail have probability zero
        numbers={
            "runs": len(cases),
            "tokens": sum(setting.n for setting, _, _ in cases),
            "farthest_in_radii": farthest,
            "latest_capture": latest,
            "smallest_c": [smallest_separation(s) for s in SETTINGS],
            "outside_c": list(SEPARATIONS),
            "outside_captured": inside.mean(axis=1).tolist(),
        },
        data=shown,
    )


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw two runs with their centres, and how capture depends on the separation."""
    from parkade.plots import circles, style

    *axes, right = figure.subplots(1, 3)
    band = SHOWN.eps / math.sqrt(SHOWN.beta)
    for ax, packing in zip(axes, ("parked", "lonely"), strict=True):
        captured, run = evidence.data[packing]
        for center in sphere.angles(run.frozen):
            ax.axhspan(center - band, center + band, color=style.VERMILLION, linewidth=0.4)
        times = np.geomspace(0.1, max(100.0, captured**1.1), 500)
        for path in sphere.angles(run.at(times)).T:
            for t, phi in (np.transpose(piece) for piece in circles.unbroken(times, path)):
                ax.plot(t, phi, color=style.BLUE, linewidth=0.6)
        ax.set(xscale="log", xlim=(times[0], times[-1]), ylim=(-math.pi, math.pi))
        ax.set(xlabel="time t")
        ax.set_yticks([-math.pi, 0, math.pi], ["−π", "0", "π"])
    axes[0].set(ylabel="angle φ", title="free tokens, frozen centres (red)")
    axes[1].set_title("a single centre")
    captured_share = evidence.numbers["outside_captured"]
    right.plot(SEPARATIONS, captured_share, "o-", color=style.BLUE, linewidth=1, markersize=3)
    begin, end = smallest_separation(SHOWN), SEPARATIONS[-1] + 1
    right.axvspan(begin, end, color=style.PALE, linewidth=0, zorder=0)
    right.text((begin + end) / 2, 0.45, "Theorem\n5.2\napplies", ha="center", fontsize=7)
    right.set(xlabel="separation c of the centres", ylabel="share of tokens captured")
    right.set(xlim=(SEPARATIONS[0] - 0.2, end), ylim=(0, 1.03))


CLAIM = Claim(
    name="theorem-5.2",
    title="Frozen centres far enough apart capture every free token",
    paper=CAUSAL_CLUSTERING,
    status="theorem",
    prediction="every token within εβ^(−1/2) of a centre",
    measure=measure,
    draw=draw,
)
