"""Random smooth transformers against DOP853, written from the equations of docs/transformers.md.

The error of a run is at most 10·tol, times how much the flow itself amplifies a small change.
`python tests/fuzz/test_equations.py 17 42` runs some of the cases again and prints the results.
"""

from __future__ import annotations

import sys

import numpy as np
import pytest
from support.equations import NoSolutionError, Numbers, solve
from support.marks import many
from support.transformers import assembled

import parkade as pk
from parkade.base.errors import StuckError, UnfinishedError

CASES, GROUP = many(30, 300), 10
TOL = 1e-6
SMALL = 1e-6  # the change that is amplified


def numbers(number):
    """A random transformer whose velocity is smooth, and its first state."""
    rng = np.random.default_rng([32, number])
    d, n = int(rng.integers(2, 7)), int(rng.integers(2, 9))
    heads = []
    for _ in range(int(rng.integers(1, 4))):
        m = int(rng.integers(1, d + 1))
        Q, K = rng.standard_normal((2, m, d))
        heads.append((Q, K, rng.standard_normal((d, d)), float(rng.uniform(0, 4))))
    position = rng.choice(["none", "rope", "alibi"])
    mlp = ()
    if rng.random() < 0.5:
        p = int(rng.integers(1, 9))
        shapes = (p, d), (d, p), (p,), (d,)
        name = str(rng.choice(["gelu", "silu"]))
        mlp = (*(rng.standard_normal(shape) for shape in shapes), name)
    norm = str(rng.choice(["post", "pre", "mix", "peri", "ngpt", "sqrt"]))
    weights = str(rng.choice(["softmax", "softmax", "softmax", "unnormalised", "linear"]))
    if weights == "unnormalised":  # e^score should not be astronomical
        heads = [(Q, K, V, 0.1 * beta) for Q, K, V, beta in heads]
    t_end = float(rng.uniform(0.5, 6.0))
    model = Numbers(
        d=d,
        heads=heads,
        norm=norm,
        mask=str(rng.choice(["causal", "full", "window", "prefix"])),
        size=int(rng.integers(1, n + 2)),
        tau=t_end * float(rng.uniform(0.1, 0.9)),
        alpha=float(rng.uniform(0.3, 2.0)),
        base=float(rng.uniform(2, 100)) if position == "rope" else 0.0,
        slopes=rng.uniform(0, 1, len(heads)).tolist() if position == "alibi" else [],
        mlp=mlp,
        attention=weights,
    )
    theta = rng.standard_normal((n, d))
    theta /= np.linalg.norm(theta, axis=1, keepdims=True)
    logs = rng.uniform(-1, 1, n) if norm in ("pre", "mix", "peri") else np.zeros(n)
    return model, theta, logs, t_end


def amplification(model, theta, logs, t_end, rng):
    """By how much a small change of directions, at the start or later, has grown at the end."""
    largest, start = 1.0, 0.0
    for later in (0.0, t_end / 3, 2 * t_end / 3):
        if later:
            theta, logs = solve(model, theta, logs, (start, later))
            start = later
        end, _ = solve(model, theta, logs, (start, t_end))
        for _ in range(2):
            moved = theta + SMALL * rng.standard_normal(theta.shape) / np.sqrt(theta.shape[1])
            moved /= np.linalg.norm(moved, axis=1, keepdims=True)
            before = np.linalg.norm(moved - theta, axis=1).max()
            other, _ = solve(model, moved, logs, (start, t_end))
            largest = max(largest, np.linalg.norm(other - end, axis=1).max() / before)
    return largest


def check(number):
    """What is wrong with a case; empty if nothing."""
    model, theta, logs, t_end = numbers(number)
    ours = assembled(model)
    try:
        end, _ = solve(model, theta, logs, (0.0, t_end))
    except NoSolutionError:
        end = None
    for method in ["explicit"] + ["implicit"] * ours.triangular:
        radii = np.exp(logs) if ours.radii else None
        try:
            run = pk.simulate(ours, theta, t_end, radii=radii, method=method, tol=TOL)
        except (StuckError, UnfinishedError) as error:
            if end is None:
                continue
            return f"{method}: {error}"
        if end is None:
            return f"{method}: there is no solution until t={t_end:g}"
        error = np.linalg.norm(run.final - end, axis=1).max()
        if error > 10 * TOL:
            factor = amplification(model, theta, logs, t_end, np.random.default_rng(number))
            if error > 10 * TOL * factor:
                return f"{method}: {error:.1e}, amplification {factor:.1f}"
    return ""


@pytest.mark.parametrize("first", range(0, CASES, GROUP))
def test_smooth_transformers(first):
    wrong = {i: text for i in range(first, first + GROUP) if (text := check(i))}
    assert not wrong


if __name__ == "__main__":
    for text in sys.argv[1:]:
        print(text, assembled(numbers(int(text))[0]).label, "|", check(int(text)) or "fine")
