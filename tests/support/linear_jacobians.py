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
    found = allocate(*x.shape, causal=True, stores=False)
    linear_time.linearize(fast, unrolled(model.d), fast.query / LOG2E, x, found)
    return (direct, expected), (fast, found)


def solutions(pair, other, x, right, shift):
    """u of (shift − J) u = right by direct and by harmonic sums, (n, d)."""
    n, d = x.shape
    results = []
    for kind, (system, lin) in enumerate((pair, other)):
        u = np.zeros((d, padded(n)))
        equations = Equations(lin, inverse_columns(lin.blocks, shift), right, u)
        if kind == 0:
            substitution.solve(system, equations)
        else:
            dims = unrolled(d)
            changes = harmonic_linear.no_changes(system, dims)
            jacobians = linear_time.jacobians(system)
            jacobians.solve_rows(system, dims, x, equations, 0, n, changes)
        results.append(np.ascontiguousarray(u[:, :n].T))
    return results


def tangent(x, seed=0):
    """Random tangent vectors."""
    v = np.random.default_rng(seed).standard_normal(x.shape)
    return v - np.sum(v * x, axis=1, keepdims=True) * x
