"""Transformers as docs/transformers.md writes them, in plain NumPy, solved by SciPy's DOP853.

Nothing of parkade is used here: a model is its numbers, written out below.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import expit, ndtr

ACTIVATIONS = {
    "relu": lambda u: np.maximum(u, 0.0),
    "gelu": lambda u: u * ndtr(u),
    "silu": lambda u: u * expit(u),
}


EVALUATIONS = 50_000  # of the velocity: all other cases of the campaigns take at most 14 000


class NoSolutionError(Exception):
    """The flow ends before the wanted time: a length vanishes, or a velocity jumps to and fro."""


@dataclass(frozen=True)
class Numbers:
    """All numbers of a transformer."""

    d: int
    heads: list  # of (Q, K, V, β)
    norm: str
    mask: str
    size: int = 0  # of the window or the prefix
    tau: float = 0.0  # when mix becomes pre
    alpha: float = 1.0  # of nGPT
    base: float = 0.0  # of RoPE
    slopes: list = field(default_factory=list)  # of ALiBi
    mlp: tuple = ()  # W1, W2, b1, b2 and the name of σ
    attention: str = "softmax"


def _turned(u, base):
    """R_k u_k: the planes (2i, 2i+1) of queries or keys, turned by k·base^{−2i/m}."""
    turned, m = u.copy(), u.shape[1]
    for i in range(m // 2):
        angle = np.arange(len(u)) * base ** (-2.0 * i / m)
        a, b = u[:, 2 * i], u[:, 2 * i + 1]
        turned[:, 2 * i] = np.cos(angle) * a - np.sin(angle) * b
        turned[:, 2 * i + 1] = np.sin(angle) * a + np.cos(angle) * b
    return turned


def _seen(model, n):
    """Whether token k (row) attends to token j (column)."""
    k, j = np.arange(n)[:, None], np.arange(n)[None, :]
    return {
        "full": np.ones((n, n), bool),
        "causal": j <= k,
        "window": (j <= k) & (j > k - model.size),
        "prefix": (j <= k) | ((j < model.size) & (k < model.size)),
    }[model.mask]


def force(model, theta):
    """F_k: all heads, and the MLP."""
    n = len(theta)
    total, seen = np.zeros_like(theta), _seen(model, n)
    for h, (Q, K, V, beta) in enumerate(model.heads):
        queries, keys = theta @ Q.T, theta @ K.T
        if model.base:
            queries, keys = _turned(queries, model.base), _turned(keys, model.base)
        scores = beta * (queries @ keys.T)
        if model.slopes:
            scores -= model.slopes[h] * np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
        if model.attention == "softmax":
            weights = np.exp(scores - np.where(seen, scores, -np.inf).max(1, keepdims=True)) * seen
            weights /= weights.sum(1, keepdims=True)
        else:
            weights = np.exp(scores) if model.attention == "unnormalised" else scores
            weights = weights * seen / seen.sum(1, keepdims=True)
        total += weights @ (theta @ V.T)
    if model.mlp:
        W1, W2, b1, b2, name = model.mlp
        total += ACTIVATIONS[name](theta @ W1.T + b1) @ W2.T + b2
    return total


def change(model, t, theta, logs):
    """dθ/dt and d ln r/dt."""
    F, norm = force(model, theta), model.norm
    if norm == "mix":
        norm = "post" if t < model.tau else "pre"
    size, r = np.linalg.norm(F, axis=1), np.exp(logs)
    s = {
        "post": np.ones(len(theta)),
        "pre": r,
        "peri": r * size,
        "ngpt": size / model.alpha,
        "sqrt": np.full(len(theta), np.sqrt(t + 1.0)),
    }[norm]
    along = (theta * F).sum(1)
    grown = along / s if norm in ("pre", "peri") else np.zeros(len(theta))
    return (F - along[:, None] * theta) / s[:, None], grown


def solve(model, theta, logs, span, tol=1e-10):
    """Directions and ln r at the end of a span of time."""
    start, end = span
    if model.norm == "mix" and start < model.tau < end:  # the velocity jumps
        theta, logs = solve(model, theta, logs, (start, np.nextafter(model.tau, 0.0)), tol)
        start = model.tau
    n, d = theta.shape
    left = iter(range(EVALUATIONS))

    def rate(t, y):
        if next(left, None) is None:  # a token slides along a jump, by ever shorter steps
            raise NoSolutionError(f"no steps pass t={t:g}")
        x = y[: n * d].reshape(n, d)
        x = x / np.linalg.norm(x, axis=1, keepdims=True)
        turn, grown = change(model, t, x, y[n * d :])
        return np.concatenate([turn.ravel(), grown])

    result = solve_ivp(
        rate, (start, end), np.concatenate([theta.ravel(), logs]),
        method="DOP853", rtol=tol, atol=tol,
    )  # fmt: skip
    if not result.success:
        raise NoSolutionError(result.message)
    x = result.y[: n * d, -1].reshape(n, d)
    return x / np.linalg.norm(x, axis=1, keepdims=True), result.y[n * d :, -1]
