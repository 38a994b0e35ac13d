"""Free tokens among frozen centres: the setting of Theorem 5.2."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from parkade import theory
from parkade.base.types import Array
from parkade.model import sphere
from parkade.model.attention import Attention
from parkade.runs.trajectory import Trajectory
from parkade.solve.simulate import simulate
from parkade.theory.parking import renyi_centers

Packing: TypeAlias = Literal["dense", "parked", "lonely"]
"""As many centres as fit, as many as find room at random, or a single one."""

END = 1e280
"""Late enough even for a token opposite a single centre, which is captured at about e^{2β}."""


class Setting(NamedTuple):
    """β, ε, free tokens n, and N = n + the weights of all centres."""

    beta: float
    eps: float
    n: int
    N: int


def smallest_separation(setting: Setting) -> float:
    """The smallest c with which the theorem applies."""
    c = theory.capture_window(N=setting.N, eps=setting.eps, beta=setting.beta).c
    assert c is not None
    assert theory.capture_window(N=setting.N, c=c, eps=setting.eps, beta=setting.beta).holds
    return c


def freeze(setting: Setting, c: float, packing: Packing, rng: np.random.Generator) -> Trajectory:
    """Follow free tokens from random starts among centres that are more than cβ^{-1/2} apart."""
    apart = c / math.sqrt(setting.beta)
    if packing == "parked":
        cars = sphere.uniform(2000, 2, rng)
        centers = cars[renyi_centers(cars, apart)]
    else:
        m = 1 if packing == "lonely" else math.ceil(2 * math.pi / apart) - 1
        centers = sphere.from_angles(rng.uniform(0, 2 * math.pi) + 2 * math.pi * np.arange(m) / m)
    m = len(centers)
    weights = 1 + (setting.N - setting.n - m) * rng.dirichlet(np.ones(m))
    model, start = Attention(d=2, beta=setting.beta), sphere.uniform(setting.n, 2, rng)
    return simulate(model, start, END, frozen=centers, frozen_weights=weights)


def distances(run: Trajectory, eps: float) -> Array:
    """Distance of each token from the nearest centre at every step, in units of εβ^{-1/2}."""
    near = np.full(run.tokens.shape[:2], np.inf)
    for center in run.frozen:
        near = np.minimum(near, sphere.distance(run.tokens, center))
    return near * math.sqrt(run.model.sharpness) / eps
