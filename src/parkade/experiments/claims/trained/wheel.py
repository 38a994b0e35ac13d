"""The indentation wheel of SmolLM2-135M: the plane of head 8 in layer 28.

The tokens "line end and k blanks" lie around the plane in the order of k. If the plane is used, the
last token of a line of code stands, after the layer, at the angle of the indentation that comes
next. The code was written for this test.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parkade.base.types import Array
from parkade.experiments.claim import Claim, Evidence, Judgement
from parkade.experiments.claims.trained.held_out import CODE, INDENTATIONS
from parkade.experiments.claims.trained.models import on_models, texts_for, unless_missing
from parkade.experiments.experiment import TRAINED, Figure, Setup
from parkade.trained.meaning.axes import axes_of, matrices

if TYPE_CHECKING:
    from parkade.trained.model import Trained

LAYER, HEAD = 28, 8

CORRELATION, ERROR = 0.8, 45.0
"""Of angles after the layer: the smallest correlation and the largest mean error, in degrees."""

PLANES = 200
"""Random planes of the head's range."""


def circular(a: Array, b: Array) -> float:
    """The circular correlation of angles by Fisher and Lee (Biometrika 70, 1983).

    It compares the turns between all pairs, so it needs no mean direction, which angles all around
    a circle do not have.
    """
    x, y = (np.sin(z[:, None] - z[None]) for z in (a, b))
    return float(np.sum(x * y) / np.sqrt(np.sum(x * x) * np.sum(y * y)))


def error(a: Array, b: Array) -> float:
    """The mean distance of angles, in degrees; 90 by chance."""
    return float(np.degrees(np.abs(np.angle(np.exp(1j * (a - b))))).mean())


def judge(correlation: float, off: float, null: Array) -> Judgement:
    """The verdict from the correlation and the error of angles, and from random planes."""
    beyond = bool(correlation > null.max())
    return "agrees" if beyond and correlation > CORRELATION and off < ERROR else "contradicts"


def angles(points: Array, plane: Array) -> Array:
    """The angles of points (n, d) in a plane (2, d)."""
    x, y = plane @ points.T
    turned: Array = np.arctan2(y, x)
    return turned


def order(rim: Array) -> tuple[float, float]:
    """Turns from the first to the last of several angles, and the share of steps in one sense."""
    steps = np.diff(np.unwrap(rim))
    share = max(float(np.mean(steps > 0)), float(np.mean(steps < 0)))
    return float(abs(steps.sum()) / (2 * np.pi)), share


def newlines(model: Trained) -> dict[int, int]:
    """The ids of "line end and k blanks" that are one token, by k."""
    ids = {k: model.encode("\n" + " " * k) for k in range(1, 17)}
    return {k: one[-1] for k, one in ids.items() if len(one) == 1}


def measure(models: list[Trained], setup: Setup, layer: int = LAYER, head: int = HEAD) -> Evidence:
    """Compare the angles of last tokens of lines with those of the indentations that come next."""
    (model,) = models
    V, out = matrices(model, layer, head)
    plane = axes_of(V, out).writes
    if len(plane) == 1:
        return Evidence(verdict="contradicts", measured="λ is real: no plane", false_alarm=0.0)
    tokens = newlines(model)
    ends = model.ends_with_head()
    assert ends.head is not None
    assert ends.exit is not None
    rows = ends.head.unembed * ends.exit.gain
    rows = rows - rows.mean(axis=0)
    mean = np.mean(
        [model.read(model.encode(text)[:96]).hidden[:, 1:].mean(axis=1)
         for text in texts_for(model, setup.choose(2, 6))], axis=0,
    )  # fmt: skip
    states, wanted, sizes = [], [], []
    lines = setup.choose(CODE[:2], CODE)
    for code in setup.each(lines):
        for k in INDENTATIONS:
            text = code.replace("{i}", " " * k)
            coming = model.encode(text + "\n" + " " * k + "x")[len(model.encode(text))]
            states.append(model.read(text).hidden[layer : layer + 2, -1] - mean[layer : layer + 2])
            wanted.append(coming)
            sizes.append(k)
    points, targets = np.array(states), rows[wanted]
    planes = _planes(out, setup)
    null = np.array([_correlation(points[:, 1], targets, p) for p in planes])
    after = _correlation(points[:, 1], targets, plane)
    off = error(angles(points[:, 1], plane), angles(targets, plane))
    before = _correlation(points[:, 0], targets, plane)
    rim = angles(rows[list(tokens.values())], plane)
    return Evidence(
        verdict=judge(after, off, null),
        measured=f"{before:.2f} before, {after:.2f} after (random ≤ {null.max():.2f}); {off:.0f}°",
        false_alarm=0.0,  # these texts and weights decide; random planes are a null
        numbers={
            "codes": len(lines), "points": len(points),
            "tokens": {str(k): float(a) for k, a in zip(tokens, rim, strict=True)},
            "radius": (np.linalg.norm(rows[list(tokens.values())] @ plane.T, axis=1)
                       / np.linalg.norm(rows[list(tokens.values())], axis=1)).tolist(),
            "turns": order(rim)[0], "in_order": order(rim)[1],
            "before": before, "after": after, "error": off,
            "error_before": error(angles(points[:, 0], plane), angles(targets, plane)),
            "random": {
                "median": float(np.median(null)), "max": float(null.max()),
                "as_far": int(np.sum(null >= after)), "planes": len(null),
                "in_order": max(order(angles(rows[list(tokens.values())], p))[1] for p in planes),
            },
            "wanted": angles(targets, plane).tolist(),
            "angles": angles(points[:, 1], plane).tolist(), "indentation": sizes,
        },
    )  # fmt: skip


def _planes(out: Array, setup: Setup) -> list[Array]:
    rng = setup.generator(2)
    return [np.linalg.qr(out @ rng.standard_normal((out.shape[1], 2))).Q.T for _ in range(PLANES)]


def _correlation(points: Array, targets: Array, plane: Array) -> float:
    return circular(angles(points, plane), angles(targets, plane))


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw the wheel of tokens, and the angles of lines of code beside what comes next."""
    from parkade.plots import style

    numbers: dict[str, Any] = dict(evidence.numbers)
    rim, lines = figure.subplots(1, 2, width_ratios=(1, 1.2))
    for (k, angle), radius in zip(numbers["tokens"].items(), numbers["radius"], strict=True):
        x, y = radius * np.cos(angle), radius * np.sin(angle)
        rim.plot([0, x], [0, y], color=style.PALE, linewidth=0.8, zorder=0)
        rim.scatter(x, y, s=14, color=style.BLUE)
        rim.annotate(k, (1.16 * x, 1.16 * y), ha="center", va="center", fontsize=7)
    reach = 1.3 * max(numbers["radius"])
    rim.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal",
            title="tokens: line end and k blanks")  # fmt: skip
    rim.set_axis_off()
    wanted, seen = (np.degrees(numbers[name]) for name in ("wanted", "angles"))
    close = wanted + (seen - wanted + 180) % 360 - 180
    shown = lines.scatter(wanted, close, c=numbers["indentation"], s=10, cmap="viridis")
    figure.colorbar(shown, ax=lines, label="blanks of the line")
    lines.plot([-180, 180], [-180, 180], color=style.GREY, linewidth=0.8)
    lines.set(xlabel="angle of the coming indentation", ylabel="of the last token, after the layer",
              title=f"circular correlation {numbers['after']:.2f}")  # fmt: skip


CLAIM = Claim(
    name="indentation-wheel",
    title="The last token of a line of code stands at the angle of the coming indentation",
    paper=TRAINED,
    status="observed",
    prediction="correlation > 0.8, error < 45°, no random plane so far",
    measure=on_models(measure, small=("SmolLM2-135M",), all_=("SmolLM2-135M",)),
    draw=unless_missing(draw),
    height=3.0,
)
