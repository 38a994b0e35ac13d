"""Random transformers, and the flow of two tokens under every normalisation."""

from __future__ import annotations

import math

import numpy as np
from scipy.integrate import quad, solve_ivp

import parkade as pk

NORMS = ("post", "pre", "peri", "ngpt", "sqrt")


def random_transformer(seed, *, masks=("causal", "window(3)"), norms=NORMS, mlp=None, d=None):
    """A transformer with any number of heads, of any ranks, and all other parts at random."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 6)) if d is None else d
    heads = []
    for _ in range(int(rng.integers(1, 4))):
        m = int(rng.integers(1, d + 1))
        V = rng.standard_normal((d, d)) if rng.random() < 0.5 else None
        rank = int(rng.integers(1, d + 1))
        low = rng.standard_normal((d, rank)) @ rng.standard_normal((rank, d))
        Q, K = rng.standard_normal((2, m, d))
        heads.append(pk.Head(Q, K, low if V is None else V, beta=float(rng.uniform(0, 3))))
    positions = [
        None,
        pk.Rope(float(rng.uniform(2, 100))),
        pk.Alibi(rng.uniform(0, 1, len(heads))),
        pk.Alibi(0.3),
    ]
    network = None
    if mlp if mlp is not None else rng.random() < 0.5:
        p = int(rng.integers(1, 9))
        network = pk.MLP(
            rng.standard_normal((p, d)),
            rng.standard_normal((d, p)),
            rng.standard_normal(p),
            rng.standard_normal(d),
            activation=str(rng.choice(["relu", "gelu", "silu"])),
        )
    return pk.Transformer(
        heads,
        mlp=network,
        norm=str(rng.choice(norms)),
        mask=str(rng.choice(masks)),
        position=positions[int(rng.integers(len(positions)))],
    )


def random_state(model, n, seed):
    """Tokens, and random ln r in a last column if the model has lengths."""
    x = pk.sphere.uniform(n, model.d, seed=seed)
    if not model.radii:
        return x
    logs = np.random.default_rng(seed).uniform(-1, 1, (n, 1))
    return np.concatenate([x, logs], axis=1)


class TwoTokens:
    """Token 2 falls on token 1 by quadrature: Q = K = V = I, causal, from the angle `start`.

    With the weight p of token 1 and the angle φ, F_2 = x_2 + p (x_1 − x_2), so dφ/dt = −p sin φ/s
    and d ln r/dt = (1 − p (1 − cos φ))/s.
    """

    def __init__(self, norm, beta, start, alpha=1.0):
        self.norm, self.beta, self.start, self.alpha = norm, beta, start, alpha

    def weight(self, angle):
        return 1 / (1 + math.exp(self.beta * (1 - math.cos(angle))))

    def radial(self, angle):
        return 1 - self.weight(angle) * (1 - math.cos(angle))

    def size(self, angle):
        return math.hypot(self.radial(angle), self.weight(angle) * math.sin(angle))

    def log_radius(self, angle):
        """ln r when the angle is reached; the clock does not matter."""

        def growth(phi):
            return self.radial(phi) / (self.weight(phi) * math.sin(phi))

        return quad(growth, angle, self.start, epsabs=1e-13, epsrel=1e-13)[0]

    def time(self, angle):
        """When the angle is reached."""

        def clock(log_phi):  # an angle may be exponentially small
            phi = math.exp(log_phi)
            r = math.exp(self.log_radius(phi)) if self.norm in ("pre", "peri") else 1.0
            size = self.size(phi) if self.norm in ("peri", "ngpt") else 1.0
            return r * size * phi / (self.alpha * self.weight(phi) * math.sin(phi))

        ends = math.log(angle), math.log(self.start)
        passed = quad(clock, *ends, epsabs=1e-13, epsrel=1e-12, limit=500)[0]
        # For the root, ∫ dt/√(t+1) = 2 (√(t+1) − 1).
        return (1 + passed / 2) ** 2 - 1 if self.norm == "sqrt" else passed


def by_dop853(model, state, times, tol=1e-11):
    """The states at some times by SciPy's solver, with the naive change."""
    shape = state.shape

    def on_the_sphere(states):
        states[..., : model.d] = pk.sphere.normalize(states[..., : model.d])
        return states

    def rate(t, y):
        return np.asarray(model.change(on_the_sphere(y.reshape(shape).copy()), t=t)).ravel()

    span = 0, times[-1]
    result = solve_ivp(rate, span, state.ravel(), "DOP853", times, rtol=tol, atol=tol)
    return on_the_sphere(result.y.T.reshape(-1, *shape).copy())


def assembled(model):
    """The transformer that `equations.Numbers` describe, made of parkade's parts."""
    masks = {"window": pk.Window, "prefix": pk.Prefix}
    mask = masks[model.mask](model.size) if model.mask in masks else model.mask
    norms = {"mix": pk.Mix(model.tau), "ngpt": pk.NGPT(model.alpha)}
    position = pk.Rope(model.base) if model.base else None
    *layers, name = model.mlp or [None]
    return pk.Transformer(
        [pk.Head(*head) for head in model.heads],
        d=model.d,
        mlp=pk.MLP(*layers, activation=name) if model.mlp else None,
        norm=norms.get(model.norm, model.norm),
        mask=mask,
        position=pk.Alibi(model.slopes) if model.slopes else position,
        attention=model.attention,
    )
