"""Two tokens that do not end at ±ξ although dim L = 1: why Q and K matter."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from parkade.base.types import Array
from parkade.model import sphere
from parkade.model.attention import Attention

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def counterexample() -> tuple[Attention, Array]:
    """Two tokens at rest 120° apart, the second one stable, with V = diag(1, ½).

    With x_1 = ξ and x_2 at the angle θ from it, θ' = −sin θ (w_1 + w_2 cos θ / 2), up to
    a positive factor. At 120° w_1/w_2 = ¼, so θ' = 0; and w_1 grows so fast with θ that the
    token returns.
    """
    model = Attention(V=[1, 0.5], Q=[-1, 1 + 4 / 3 * math.log(4)], beta=1)
    return model, sphere.from_angles([0, 2 * math.pi / 3])


def draw_counterexample(ax: Axes) -> None:
    """Draw the velocity of the second token against its angle, and the same for Q = K = I."""
    from parkade.plots import style

    model, _ = counterexample()
    degrees = np.linspace(0, 180, 361)
    tokens = np.stack([sphere.from_angles([0, a]) for a in np.radians(degrees)])
    for attention, label, color in (
        (Attention(V=model.V), "Q = K = I", style.BLUE),
        (model, "Q = diag(−1, 2.85), K = I", style.VERMILLION),
    ):
        velocity = attention.velocity(tokens)[:, 1]
        away = -np.sin(np.radians(degrees)), np.cos(np.radians(degrees))
        speed = velocity[:, 0] * away[0] + velocity[:, 1] * away[1]
        ax.plot(degrees, speed, color=color, linewidth=1, label=label)
    ax.plot([120], [0], "o", color=style.VERMILLION, markersize=5)
    ax.axhline(0, color=style.GREY, linewidth=0.6)
    ax.annotate(
        "stable", (118, 0.003), (62, 0.06), color=style.VERMILLION,
        arrowprops={"arrowstyle": "->", "color": style.VERMILLION, "linewidth": 0.8},
    )  # fmt: skip
    ax.set(xlabel="angle of x₂ from x₁ = ξ, degrees", ylabel="its velocity")
    ax.set(xlim=(0, 180), ylim=(-0.6, 0.15), xticks=range(0, 181, 60))
    ax.set_title("Two tokens, V = diag(1, ½), β = 1")
    ax.legend(loc="lower right")
