"""Random models and rotations, errors and orders. All random numbers come from fixed seeds."""

from __future__ import annotations

import re
import time

import numpy as np

import parkade as pk

EPS = np.finfo(np.float64).eps


def random_model(d, beta=1.0, seed=0, mask="causal", scale=1.0):
    """A model with dense random Q, K, V of spectral size about `scale`."""
    rng = np.random.default_rng(seed)
    Q, K, V = scale * rng.standard_normal((3, d, d)) / np.sqrt(d)
    return pk.Attention(beta=beta, Q=Q, K=K, V=V, mask=mask)


def random_rotation(d, seed=0):
    """An orthogonal matrix with determinant 1."""
    q, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))
    q[:, 0] *= np.sign(np.linalg.det(q))
    return q


def worst(x, y):
    """The largest distance between corresponding rows."""
    return np.max(np.linalg.norm(np.asarray(x) - np.asarray(y), axis=-1))


def slope(steps, errors):
    """The observed order: the slope of log error against log step."""
    return np.polyfit(np.log(steps), np.log(errors), 1)[0]


def same_bits(one, other):
    """Whether two datasets agree in everything, bit by bit."""
    assert one.identical(other)
    assert all(one[name].values.tobytes() == other[name].values.tobytes() for name in one)
    return True


def without_patience(said):
    """The output without the line about compiling that slow machines print."""
    return re.sub(r"^parkade: compiling .*\n", "", said, flags=re.MULTILINE)


def until(true, seconds=300):
    """Wait until a function returns true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.01)
