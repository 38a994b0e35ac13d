"""The flow linearised by direct and by harmonic sums, and linear systems in its Jacobian."""

from __future__ import annotations

import numpy as np

from parkade.engine.flow import linear_time
from parkade.engine.jacobian import small_matrices
from parkade.engine.steps import stages
from parkade.engine.steps.implicit import IMPLICIT
from parkade.engine.system import LOG2E, unrolled
from support.harmonics import systems
from support.jacobians import tangent_bases
from support.steps import implicit_step


def linearized(model, x, shift=None, frozen=None, weights=None):
    """The flow linearised, and (shift − J) u = velocity solved, by direct and by harmonic sums.

    By default the shift is beyond the growth rates, so that the system does not amplify errors
    itself.
    """
    direct, fast = systems(model, len(x), frozen, weights, accuracy=1e-12)
    if shift is None:
        shift = 2 * np.abs(implicit_step(direct, x, 1.0).lin.blocks).max() + 1.0
    by_series = _on_all_cores if fast.lengths is None else implicit_step
    return implicit_step(direct, x, shift), by_series(fast, x, shift)


def _on_all_cores(system, x, shift):
    """The same as runs on all cores compute it, the first stage only."""
    n, d = x.shape
    dims, work = unrolled(d), IMPLICIT.workspace(n, d, causal=True, stores=False)
    linear_time.linearize_shared(system, dims, system.query / LOG2E, x, work.lin, threads=1)
    small_matrices.invert(work.lin.blocks, shift, work.inverses)
    assert n <= stages.BLOCK
    stages._block(system, dims, x, work, 1.0, stages._lane(system, dims, n, 0), 0)
    return work


def solution(work):
    """The solution u of the linear system, (n, d)."""
    return np.ascontiguousarray(work.u[0][:, : len(work.y)].T)


def felt(work, x, shift):
    """What is due to other tokens in the right-hand side of u: that of a token alone is (n, d)."""
    basis = tangent_bases(x)
    u = np.einsum("kci,kc->ki", basis, solution(work))
    own = shift * u - np.einsum("kij,kj->ki", work.lin.blocks, u)
    return np.einsum("kci,ki->kc", basis, own) - work.lin.velocity
