"""The flow linearised by direct and by harmonic sums, and linear systems in its Jacobian."""

from __future__ import annotations

import numpy as np

from parkade.engine import harmonic_linear, linear_time, pairwise_linear, substitution
from parkade.engine.linearization import allocate, padded
from parkade.engine.substitution import Equations
from parkade.engine.system import LOG2E, unrolled
from support.harmonics import systems
from support.jacobians import inverse_columns


def linearized(model, x, frozen=None, weights=None):
    """The linearisation by direct and by harmonic sums, each with its system."""
    direct, fast = systems(model, len(x), frozen, weights, accuracy=1e-12)
    expected = allocate(*x.shape, causal=True)
    pairwise_linear.linearize(direct, direct.query / LOG2E, x, expected)
    return (direct, expected), (fast, linearized_by_series(fast, x))


def linearized_by_series(system, x):
    """The linearisation by harmonic sums."""
    found = allocate(*x.shape, causal=True, stores=False)
    linear_time.linearize(system, unrolled(x.shape[1]), system.query / LOG2E, x, found)
    return found


def solutions(pair, other, x, right, shift):
    """u of (shift − J) u = right by direct and by harmonic sums, (n, d)."""
    n, d = x.shape
    system, lin = pair
    u = np.zeros((d, padded(n)))
    substitution.solve(system, Equations(lin, inverse_columns(lin.blocks, shift), right, u))
    return [np.ascontiguousarray(u[:, :n].T), solved_by_series(*other, x, right, shift)]


def solved_by_series(system, lin, x, right, shift):
    """The second of these."""
    n, d = x.shape
    dims, u = unrolled(d), np.zeros((d, padded(n)))
    equations = Equations(lin, inverse_columns(lin.blocks, shift), right, u)
    changes = harmonic_linear.no_changes(system, dims)
    linear_time.jacobians(system).solve_rows(system, dims, x, equations, 0, n, changes)
    return np.ascontiguousarray(u[:, :n].T)


def tangent(x, seed=0):
    """Random tangent vectors."""
    v = np.random.default_rng(seed).standard_normal(x.shape)
    return v - np.sum(v * x, axis=1, keepdims=True) * x
