"""Starts and models that found defects: symmetric ones, repeated eigenvalues, and no forces."""

from __future__ import annotations

from itertools import combinations, product

import mpmath as mp
import numpy as np

import parkade as pk
from support.equations import Numbers
from support.transformers import random_state, random_transformer

DIGITS = 80  # of references; squaring for t = 1e16 loses some 20 of them


def rotation(rng, d):
    return np.linalg.qr(rng.standard_normal((d, d)))[0]


def polytope(rng):
    """The vertices of a regular polygon, simplex, cross-polytope or cube, each once or twice."""
    kind = rng.choice(["polygon", "polygon", "simplex", "cross", "cube"])
    if kind == "polygon":
        n = int(rng.integers(3, 8))
        x = pk.sphere.from_angles(2 * np.pi * np.arange(n) / n + rng.uniform(0, 1))
        x = np.hstack([x, np.zeros((n, int(rng.integers(2))))])  # perhaps on an equator
    elif kind == "simplex":
        d = int(rng.choice([2, 3, 5]))
        corners = np.eye(d + 1) - 1 / (d + 1)
        x = pk.sphere.normalize(corners @ np.linalg.svd(corners)[2][:d].T)
    elif kind == "cross":
        axes = np.eye(int(rng.choice([2, 3, 5])))
        x = np.concatenate([axes, -axes])
    else:
        x = pk.sphere.normalize(list(product((-1.0, 1.0), repeat=int(rng.integers(2, 4)))))
    x = x @ rotation(rng, x.shape[1])
    return pk.sphere.normalize(np.repeat(x, int(rng.choice([1, 1, 2])), axis=0))


def on_an_eigenvector(rng):
    """V with real eigenvalues, and tokens of which the first is on one that is not leading."""
    d = int(rng.choice([2, 3, 5]))
    values = np.sort(rng.uniform(-1, 1, d)) + rng.uniform(-0.5, 1)
    basis = rotation(rng, d)
    if rng.random() < 0.5:
        basis = basis + 0.2 * rng.standard_normal((d, d))
    V = basis @ np.diag(values) @ np.linalg.inv(basis)
    eigenvalues, vectors = np.linalg.eig(V)
    order = np.argsort(eigenvalues.real)
    x = pk.sphere.uniform(int(rng.integers(1, 6)), d, seed=rng)
    x[0] = pk.sphere.normalize(vectors[:, order[int(rng.integers(d - 1))]].real)
    if len(x) > 1 and rng.random() < 0.3:
        x[1] = rng.choice([-1.0, 1.0]) * x[0]
    return V, x


def symmetric_case(rng):
    """An unstable equilibrium up to rounding: a model, tokens, and a final time."""
    t_end, parts = float(rng.uniform(20, 200)), rng.random() < 0.4
    if rng.random() < 0.5:
        x, V, mask = polytope(rng), 1.0, "full"
    else:
        V, x = on_an_eigenvector(rng)
        mask, t_end = "causal", t_end / float(np.linalg.norm(V, 2))
    betas = rng.uniform(1, 9, 2)
    if not parts or len(x) > 6:  # implicit steps of many parts under full attention are slow
        return pk.Attention(x.shape[1], V=V, beta=float(betas[0]), mask=mask), x, t_end
    heads = [pk.Head(d=x.shape[1], V=np.multiply(V, 0.5), beta=float(beta)) for beta in betas]
    norm = str(rng.choice(["post", "pre", "peri", "ngpt", "sqrt"]))
    return pk.Transformer(heads, mask=mask, norm=norm), x, t_end


class Blocks:
    """V = S J S⁻¹ with some of J's leading eigenvalues equal, and what e^{tV} is for this J."""

    def __init__(self, rng):
        d = int(rng.choice([2, 3, 5, 8]))
        size = int(rng.integers(2, d + 1))  # the multiplicity of the leading eigenvalue
        lead = float(rng.choice([1.0, 0.3, 2.7, 0.1, -0.4, 0.0]))
        values = np.append(np.full(size, lead), lead - rng.uniform(0.1, 2, d - size))
        self.kind = str(rng.choice(["equal", "equal", "block", "nearly"]))
        self.couplings = {}  # of neighbours among the leading ones
        if self.kind != "equal":
            weak = float(10.0 ** rng.uniform(-14, -1)) if self.kind == "nearly" else 1.0
            self.couplings = dict.fromkeys(range(int(rng.integers(1, size))), weak)
        self.values = values
        S = rotation(rng, d)[:, rng.permutation(d)]
        if rng.random() < 0.6:
            S = S + 0.3 * rng.standard_normal((d, d)) / np.sqrt(d)
        self.S = S
        with mp.workdps(DIGITS):
            J = mp.diag(values.tolist())
            for i, weak in self.couplings.items():
                J[i, i + 1] = mp.mpf(weak)
            basis = mp.matrix(S.tolist())
            V = basis * J * basis**-1
            self.V = np.array([[float(V[i, j]) for j in range(d)] for i in range(d)])

    @property
    def robust(self):
        """Whether changes of V in its last digits do not matter for its eigenspace."""
        return self.kind == "equal" or (self.kind == "block" and len(self.couplings) == 1)

    def first(self, x, t):
        """Where the first token is at the time t."""
        with mp.workdps(DIGITS):
            basis, t = mp.matrix(self.S.tolist()), mp.mpf(t)
            y = basis**-1 * mp.matrix(x.tolist())
            chain = len(self.couplings)
            z = [mp.exp(t * mp.mpf(v)) * c for v, c in zip(self.values.tolist(), y, strict=True)]
            if chain:  # one block of chain + 1 eigenvalues, with equal couplings
                step = t * mp.mpf(self.couplings[0])
                powers = [step**k / mp.factorial(k) for k in range(chain + 1)]
                grown = mp.exp(t * mp.mpf(float(self.values[0])))
                for i in range(chain + 1):
                    z[i] = grown * mp.fsum(powers[j - i] * y[j] for j in range(i, chain + 1))
            return _unit(basis * mp.matrix(z))


def exact_first(V, x, t):
    """Where the first token is at the time t, for exactly these numbers."""
    with mp.workdps(DIGITS):
        m = mp.matrix(V.tolist()) * mp.mpf(t)
        halvings = max(0, int(mp.ceil(mp.log(mp.mnorm(m, 1) + 1, 2))) + 1)
        m = m / mp.mpf(2) ** halvings
        power = term = mp.eye(len(x))
        for k in range(1, 60):
            term = term * m / k
            power = power + term
        for _ in range(halvings):
            power = power * power
        return _unit(power * mp.matrix(x.tolist()))


def exact_velocity(model, tokens, frozen=(), weights=()):
    """The definition for the last token, in 700 digits: enough for forces of e^-1400."""
    with mp.workdps(700):
        x = [mp.matrix([mp.mpf(float(c)) for c in row]) for row in [*tokens, *frozen]]
        x = [row / mp.norm(row) for row in x]
        last = x[len(tokens) - 1]
        a = mp.matrix(model.K.T.tolist()) * mp.matrix(model.Q.tolist()) * last
        factors = [mp.mpf(1)] * len(tokens) + [mp.mpf(float(w)) for w in weights]
        p = [f * mp.exp(model.beta * mp.fdot(a, y)) for f, y in zip(factors, x, strict=True)]
        pull, total = mp.matrix(model.d, 1), mp.fsum(p)
        for w, y in zip(p, x, strict=True):
            pull += w / total * y
        pull = mp.matrix(model.V.tolist()) * pull
        pull -= mp.fdot(last, pull) * last
        return np.array([float(c) for c in pull])


def _unit(y):
    size = mp.norm(y)
    return np.array([float(c / size) for c in y])


def spread(V, x, t, change, rng):
    """How far the first token moves if entries of V change, relative to the largest."""
    size = change * np.abs(V).max()
    ends = [exact_first(V, x, t)]
    ends += [exact_first(V + size * rng.uniform(-1, 1, V.shape), x, t) for _ in range(3)]
    return max(float(np.linalg.norm(a - b)) for a, b in combinations(ends, 2))


def long_case(rng):
    """A model, tokens, their lengths, and two final times; trust often ends before both."""
    kind, radii = rng.choice(["symmetric", "blocks", "repelling", "full", "transformer"]), None
    ratio = float(10.0 ** rng.uniform(0.1, 4))
    if kind == "symmetric":
        model, x, t_end = symmetric_case(rng)
        return model, x, None, t_end * float(rng.uniform(0.3, 0.9)), t_end
    if kind == "transformer":
        model = random_transformer(int(rng.integers(10**6)))
        state = random_state(model, 4, int(rng.integers(10**6)))
        x, radii = state[:, : model.d], np.exp(state[:, -1]) if model.radii else None
        first = float(10.0 ** rng.uniform(1, 11)) / model.rate
        return model, x, radii, first, ratio * first
    if kind == "blocks":
        model = pk.Attention(V=Blocks(rng).V, beta=float(rng.uniform(0, 4)))
    elif kind == "repelling":
        d = int(rng.integers(2, 4))
        model = pk.Attention(V=-rng.uniform(0.5, 1, d), beta=float(rng.uniform(0, 4)))
    else:
        model = pk.Attention(int(rng.integers(2, 4)), beta=float(rng.uniform(8, 40)), mask="full")
    x = pk.sphere.uniform(int(rng.integers(2, 20)), model.d, seed=rng)
    first = float(10.0 ** rng.uniform(8, 13))
    return model, x, radii, first, ratio * first


def extreme_tokens(rng):
    """Duplicates, antipodes, and tokens from 1e-150 to 1 away from an axis."""
    n, d = int(rng.integers(1, 9)), int(rng.integers(2, 5))
    x = pk.sphere.uniform(n, d, seed=rng)
    x = x[rng.integers(0, n, n)] * rng.choice([-1.0, 1.0], (n, 1))
    near = rng.random(n) < 0.5
    sizes = 10.0 ** rng.uniform(-150, 0, (n, 1)) * rng.choice([0.0, 1.0], (n, 1))
    x[near] = (x * sizes + np.eye(d)[0] * rng.choice([-1.0, 1.0], (n, 1)))[near]
    return pk.sphere.normalize(x)


def without_forces(rng):
    """A transformer in which some tokens feel exactly no force, its first state and a time.

    Heads have V = 0 or a diagonal one with zeros, and all of the MLP is zero where x_0 < 0.
    """
    d, n = int(rng.integers(2, 5)), int(rng.integers(1, 6))
    heads = []
    for _ in range(int(rng.integers(0, 3))):
        Q, K = rng.standard_normal((2, int(rng.integers(1, d + 1)), d))
        V = np.zeros(d) if rng.random() < 0.6 else rng.choice([0.0, 1.0, -1.0], d)
        heads.append((Q, K, np.diag(V), float(rng.uniform(0, 4))))
    mlp = ()
    if rng.random() < 0.7 or not heads:
        p = int(rng.integers(1, 4))
        W1 = np.zeros((p, d))
        W1[:, 0] = rng.uniform(0.5, 2, p)
        b1 = -rng.uniform(0, 0.3, p) * rng.choice([0.0, 1.0])
        mlp = W1, rng.standard_normal((d, p)), b1, np.zeros(d), "relu"
    norm = str(rng.choice(["post", "pre", "mix", "peri", "ngpt", "sqrt"]))
    t_end = float(rng.uniform(0.5, 6))
    model = Numbers(
        d=d,
        heads=heads,
        norm=norm,
        mask=str(rng.choice(["causal", "causal", "full"])),
        tau=t_end * float(rng.uniform(0.1, 0.9)),
        alpha=float(rng.uniform(0.3, 2.0)),
        mlp=mlp,
    )
    x = pk.sphere.uniform(n, d, seed=rng)
    x[:, 0] = np.where(rng.random(n) < 0.5, -np.abs(x[:, 0]), x[:, 0])
    if rng.random() < 0.3:
        x[int(rng.integers(n))] = rng.choice([-1.0, 1.0]) * np.eye(d)[int(rng.integers(d))]
    logs = rng.uniform(-1, 1, n) if norm in ("pre", "mix", "peri") else np.zeros(n)
    return model, x, logs, t_end


def links(x, radius):
    """Clusters by links of exact distances; None where one is the radius, up to rounding."""
    n = len(x)
    label = list(range(n))
    with mp.workdps(DIGITS):
        rows = [mp.matrix(row.tolist()) for row in x]
        rows = [row / mp.norm(row) for row in rows]
        for i, j in combinations(range(n), 2):
            angle = 2 * mp.atan2(mp.norm(rows[i] - rows[j]), mp.norm(rows[i] + rows[j]))
            if angle and abs(angle - radius) <= 1e-9 * radius:
                return None
            if angle <= radius:
                old, new = sorted((label[i], label[j]))[::-1]
                label = [new if one == old else one for one in label]
    return label
