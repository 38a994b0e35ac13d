"""The flow of a transformer in a chart, by definition, and linear systems in its Jacobian."""

from __future__ import annotations

import numpy as np

from support.jacobians import fourth_order
from support.steps import implicit_step, right_sides, solutions


class Chart:
    """The flow at a state, by definition, in coordinates of the tangent spaces and ln r."""

    def __init__(self, model, state):
        n, d = len(state), model.d
        self.model, self.state, self.d = model, state, d
        whole = np.concatenate([state[:, :d, None], np.broadcast_to(np.eye(d), (n, d, d))], axis=2)
        self.basis = np.zeros((*state.shape, state.shape[1] - 1))
        self.basis[:, :d, : d - 1] = np.linalg.qr(whole).Q[:, :, 1:d]
        self.basis[:, d:, d - 1 :] = 1.0

    def enter(self, changes):
        """The coordinates of changes of states."""
        return np.einsum("kci,...kc->...ki", self.basis, changes).reshape(*changes.shape[:-2], -1)

    def flow(self, z, t):
        moved = self.state + np.einsum("kci,ki->kc", self.basis, z.reshape(len(self.state), -1))
        x, more = moved[:, : self.d], moved[:, self.d :]
        r = np.linalg.norm(x, axis=1, keepdims=True)
        f = np.array(self.model.change(np.concatenate([x / r, more], axis=1), t=t))
        radial = np.sum(self.state[:, : self.d] * f[:, : self.d], axis=1, keepdims=True)
        f[:, : self.d] = r * (f[:, : self.d] - radial * x)
        return self.enter(f)

    def jacobian(self, t, h):
        """The Jacobian by differences of fourth order."""
        units = np.eye(self.basis[..., 0, :].size)
        return np.array([fourth_order(lambda s, e=e: self.flow(s * e, t), h) for e in units]).T


def assert_solves(field, model, state, t=0.0, h=1e-4):
    """All stages of implicit steps solve linear systems in the Jacobian of the definition.

    In units of its norm: shorter steps would show less of it, longer ones go too far.
    """
    chart = Chart(model, state)
    jacobian = chart.jacobian(t, h)
    drift = fourth_order(lambda s: chart.flow(np.zeros(len(jacobian)), t + s), h)
    for shift in np.linalg.norm(jacobian, 2) * np.array([2.0, 4.0, 8.0]):
        u = chart.enter(solutions(implicit_step(field, state, shift, t)))
        rights = right_sides(lambda z, passed: chart.flow(z, t + passed), u, shift, drift)
        for result, right in zip(u, rights, strict=True):
            expected = np.linalg.solve(shift * np.eye(len(jacobian)) - jacobian, right)
            np.testing.assert_allclose(result, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
