"""Systems and configurations for the tests of sums in linear time."""

from __future__ import annotations

import functools

import numpy as np

import parkade as pk
from parkade.engine.flow import linear_time
from parkade.engine.sums import lengths as coefficients
from parkade.engine.sums.harmonic import ROUNDING
from parkade.engine.sums.lengths import LENGTHS
from parkade.engine.sums.series import SERIES
from parkade.engine.system import unrolled
from parkade.solve.lowering.lower import prepare
from support.common import random_model

ACCURACY = 1e-11
BETAS = [1.0, 9.0, 64.0, 256.0]

# Other random Q and K of the same norm have the same pieces, but for the first ones.
for _columns in ("_fourier_columns", "_legendre_columns"):
    setattr(coefficients, _columns, functools.cache(getattr(coefficients, _columns)))


@functools.cache
def lengths_table(d, low, high, tail):
    """What `LENGTHS` makes, once for all tests with the same lengths: it takes 0.3 s for β = 64."""
    return LENGTHS[d](low, high, tail)


@functools.cache
def series_table(d, beta, tail):
    """The same for a table of `SERIES`, which takes 0.02 s on the sphere for β = 256."""
    return SERIES[d].table(beta, tail)


def systems(model, n, frozen=None, weights=None, accuracy=ACCURACY):
    """The model with direct and with harmonic sums, as `parkade.sums` would make them."""
    product, mass = model.beta * model.product, n if weights is None else n + np.sum(weights)
    lengths = None
    if np.array_equal(product, product[0, 0] * np.eye(model.d)) and product[0, 0] > 0:
        table = series_table(model.d, product[0, 0], accuracy / (2 * mass))
    else:
        sizes = np.linalg.svd(product, compute_uv=False)
        table, lengths = lengths_table(model.d, sizes[-1], sizes[0], ROUNDING / 8)
    direct = prepare(model, frozen, weights)
    options = {"table": table, "lengths": lengths, "accuracy": accuracy}
    return direct, prepare(model, frozen, weights, **options)


def velocity_by_series(system, x):
    """The velocity by harmonic sums, on one core."""
    out = np.empty_like(x)
    linear_time.whole(system, unrolled(x.shape[1]), x, out)
    return out


def any_queries(d, norm, seed=0, **options):
    """A model with random Q and K, and β|KᵀQ| as given."""
    Q, K = np.random.default_rng(seed).standard_normal((2, d, d))
    return pk.Attention(d, norm / np.linalg.norm(K.T @ Q, 2), Q=Q, K=K, **options)


def values(name, d):
    """A value matrix by name."""
    diagonal = np.diag([1.0] * (d - 1) + [-1.0])
    return {"I": np.eye(d), "diag": diagonal, "random": random_model(d, seed=d).V}[name]


def size(V):
    """What an error of a mean is at most multiplied with, and at least 1."""
    return max(1.0, np.linalg.norm(V, 2))


CONFIGURATIONS = ["uniform", "clustered", "one point", "antipodal", "adversarial"]


def place(kind, n, d, seed=1):
    """n tokens: spread, or where harmonic sums have the most to lose."""
    rng = np.random.default_rng(seed)
    x = pk.sphere.uniform(n, d, seed=rng)
    if kind == "clustered":  # 8 clusters of width 1e-4
        x = x[rng.integers(min(n, 8), size=n)] + 1e-4 * rng.standard_normal((n, d))
    elif kind == "one point":
        x[:] = x[0]
    elif kind == "antipodal":
        x = x[:1] * rng.choice([-1.0, 1.0], size=(n, 1))
    elif kind == "adversarial":  # a heavy cluster in front, and isolated tokens far from it
        few = min(40, n // 2)
        x[: n - few] = np.eye(d)[0] + 1e-3 * rng.standard_normal((n - few, d))
        x[n - few :, 0] = -np.abs(x[n - few :, 0])
    return pk.sphere.normalize(x)


def lone_pair(d, angle, n=300):
    """A cluster in front, at `angle` from it a lone token, and next to that one a follower."""
    rng = np.random.default_rng(4)
    x = np.zeros((n, d))
    x[:, 0] = 1.0
    x[-2, :2] = np.cos(angle), np.sin(angle)
    x[-1, :2] = np.cos(angle + 0.1), np.sin(angle + 0.1)
    x[:-2] += 0.01 * rng.standard_normal((n - 2, d))
    return pk.sphere.normalize(x)
