"""The noise of a run in the form that the engine needs, and the first and the longest step."""

from __future__ import annotations

import math

import numpy as np

from parkade.engine.compile.jit import interpreted
from parkade.engine.steps.brownian import BrownianNoise
from parkade.engine.steps.splitting import SHORTEST, cells_of, longest
from parkade.engine.vectors import REACH
from parkade.model.model import Model

_FIRST = 16.0  # steps in a root interval, at first


# The functions of plain numbers are compiled for web pages, too: see packaging/wasm.


def root_of(rate: float, kappa: float) -> float:
    """The largest power of two within the time in which forces or noise move a token by 1."""
    slowest = min(1.0 / max(rate, 1e-60), kappa, 1e60)
    return 2.0 ** math.floor(math.log2(slowest))


def step_within(root: float, most: float) -> float:
    """A first step, at most about `most`; errors may halve it later."""
    h = root / _FIRST
    while h > most and h > SHORTEST * root:
        h *= 0.5
    return h


def reach_within(sharpness: float, rate: float) -> float:
    """The longest step in which no force moves a token far."""
    return REACH / max(sharpness * rate, 1e-300)


def noise_of(model: Model, seed: int, piece: int) -> BrownianNoise:
    """The noise of a model, of scale 0 if it has none; each piece of a run has its own noise."""
    kappa = math.inf if model.noise is None else model.noise.kappa
    key = np.random.SeedSequence(seed, spawn_key=(piece,)).generate_state(2)
    return BrownianNoise(
        scale=math.sqrt(2.0 / kappa),
        common=model.noise is not None and model.noise.common,
        root=root_of(model.rate, kappa),
        key=key.astype(np.uint64),
    )


def first_step(model: Model, noise: BrownianNoise, tol: float, t_end: float) -> float:
    """A first step, so short that no force moves a token far."""
    most = min(longest_step(model, tol), t_end, reach_within(model.sharpness, model.rate))
    return step_within(noise.root, most)


def longest_step(model: Model, tol: float) -> float:
    """The longest step of a run with noise, however slowly tokens move."""
    return interpreted(longest)(model.d, noise_of(model, 0, 0), tol)


def most_cells(model: Model, tol: float) -> int:
    """The number of cells of the longest step of a run with noise."""
    noise = noise_of(model, 0, 0)
    return interpreted(cells_of)(longest_step(model, tol), model.d, noise, tol)
