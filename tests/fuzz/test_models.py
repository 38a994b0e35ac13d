"""Random models of every kind: no unexpected error, no NaN, on the sphere, and methods agree.

A case depends only on its number: `python tests/fuzz/test_models.py 17 42` runs some of them
again and prints the results.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import NamedTuple

import numpy as np
import pytest

import parkade as pk

CASES = int(os.environ.get("PARKADE_FUZZ", "100"))
THOROUGH = "PARKADE_FUZZ" in os.environ

TOL = 1e-6
FAR = 1e3 * TOL
TIGHT = 1e-9
SHORT = 50.0  # t·|V| up to which explicit and implicit runs are compared
STEPS = None if THOROUGH else 500  # otherwise most of the time is spent on runs that never settle
GROUP = 5


def orthogonal(rng, d):
    return np.linalg.qr(rng.standard_normal((d, d)))[0]


def gaussian(rng, d):
    return rng.standard_normal((d, d)) / np.sqrt(d)


def symmetric(rng, d):
    m = gaussian(rng, d)
    return m + m.T


def skew(rng, d):
    m = gaussian(rng, d)
    return m - m.T


def jordan(rng, d):
    return rng.choice([-1.0, 1.0]) * np.eye(d) + np.diag(np.ones(d - 1), 1)


def hidden_jordan(rng, d):
    basis = orthogonal(rng, d)
    return basis @ jordan(rng, d) @ basis.T


KINDS = {
    "identity": lambda rng, d: np.eye(d),
    "minus identity": lambda rng, d: -np.eye(d),
    "zero": lambda rng, d: np.zeros((d, d)),
    "diagonal": lambda rng, d: np.diag(rng.choice([-2.0, -1.0, 0.0, 0.5, 1.0], d)),
    "symmetric": symmetric,
    "gaussian": gaussian,
    "non-normal": lambda rng, d: np.triu(10 * gaussian(rng, d), 1) + np.eye(d),
    "nilpotent": lambda rng, d: np.diag(np.ones(d - 1), 1),
    "jordan": jordan,
    "hidden jordan": hidden_jordan,
    "skew": skew,
    "identity and skew": lambda rng, d: np.eye(d) + skew(rng, d),
    "rank one": lambda rng, d: np.outer(*rng.standard_normal((2, d))),
    "orthogonal": orthogonal,
}


def scale(rng):
    """1 in half of the cases, otherwise anything from the smallest number to 1e8."""
    if rng.random() < 0.5:
        return 1.0
    return float(rng.choice([5e-324, 1e-200, 1e-50, 1e-30, 1e-8, 1e-3, 0.1, 10.0, 1e3, 1e8]))


def start(rng, n, d):
    x = rng.standard_normal((n, d))
    kind = rng.choice(["uniform", "duplicates", "antipodes", "tight", "axes", "near axes"])
    if kind == "duplicates":
        x = x[rng.integers(0, max(1, n // 2), n)]
    elif kind == "antipodes":
        x = x[rng.integers(0, max(1, n // 2), n)] * rng.choice([-1.0, 1.0], (n, 1))
    elif kind == "tight":
        x = x[0] + 10.0 ** rng.uniform(-15, -2) * rng.standard_normal((n, d))
    elif kind != "uniform":
        x *= 10.0 ** rng.uniform(-16, -4) if kind == "near axes" else 0.0
        x += np.eye(d)[rng.integers(0, d, n)] * rng.choice([-1.0, 1.0], (n, 1))
    return kind, pk.sphere.normalize(x)


class Case(NamedTuple):
    number: int
    about: str
    model: pk.Attention
    tokens: np.ndarray
    t_end: float


def make(number):
    rng = np.random.default_rng([20261116, number])
    d = int(rng.choice([2, 2, 3, 3, 5, 8]))
    n = int(rng.integers(1, 16))
    names = [rng.choice(list(KINDS)), *rng.choice(["identity", "identity", *KINDS], 2)]
    V, Q, K = (scale(rng) * KINDS[name](rng, d) for name in names)
    beta = float(rng.choice([0.0, 0.1, 1.0, 1.0, 4.0, 9.0, 64.0, 1e3, 1e4]))
    mask = str(rng.choice(["causal", "causal", "full"]))
    # Half of the cases are short enough, in their unit of time, to compare methods.
    rate = max(np.linalg.norm(V, 2), 1e-300)
    short = rng.uniform(0.1, SHORT) / rate
    t_end = short if rng.random() < 0.5 else 10.0 ** rng.uniform(-12, 200)
    t_end = float(min(max(t_end, 1e-12), 1e200))
    kind, tokens = start(rng, n, d)
    about = f"case {number}: V {names[0]}, Q {names[1]}, K {names[2]}, {mask}, n={n} {kind}, "
    about = f"{about}d={d}, beta={beta:g}, t={t_end:.3g}"
    try:
        model = pk.Attention(V=V, Q=Q, K=K, beta=beta, mask=mask)
    except pk.InputError:  # beyond the sizes that parkade accepts
        return None
    return Case(number, about, model, tokens, t_end)


def run(case, tol=TOL, **options):
    """The run or its first part; None if parkade raises an error."""
    options = {"max_steps": STEPS, "partial": True, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pk.TrustWarning)
        try:
            result = pk.simulate(case.model, case.tokens, case.t_end, tol=tol, **options)
        except pk.ParkadeError:
            return None
        # One that needs a million steps, and more than a minute, is stopped.
        assert result.stats.steps < 2e7, case.about
        return result


def off_sphere(tokens):
    return np.abs(np.linalg.norm(tokens, axis=-1) - 1).max()


def check_one(case, result):
    """Check what holds for every run."""
    times = result.times
    assert np.isfinite(result.tokens).all(), case.about
    assert off_sphere(result.tokens) < 1e-13, case.about
    assert times[0] == 0, case.about
    assert (np.diff(times) >= 0).all(), case.about
    assert (times[-1] == case.t_end) != bool(result.stats.stopped), case.about
    between = np.unique(np.concatenate([(times[:-1] + times[1:]) / 2, times[-1:]]))[-40:]
    between = between[between <= times[-1]]
    inside = result.at(between)
    assert np.isfinite(inside).all(), case.about
    assert off_sphere(inside) < 1e-13, case.about


def apart(left, right):
    """The distance of two runs at the last time that both reach."""
    t = min(left.times[-1], right.times[-1])
    return pk.sphere.distance(left.at(t), right.at(t)).max()


def check_agree(case, result, **others):
    """Check that another method agrees, if the run is well conditioned."""
    for name, options in others.items():
        other = run(case, **options)
        if other is None or apart(result, other) <= FAR:
            continue
        # Only a difference that remains at tighter tolerances, after convergence, counts.
        tight, tight_other = run(case, tol=TIGHT), run(case, tol=TIGHT, **options)
        pairs = ((tight, tight_other), (result, tight), (other, tight_other))
        if any(pair is None for pair in (tight, tight_other)):
            continue
        distance, own, its = (apart(*pair) for pair in pairs)
        assert distance <= FAR or max(own, its) > FAR, f"{case.about}: {name} off by {distance:g}"


def check(number):
    case = make(number)
    result = case and run(case)
    if result is None:
        return
    check_one(case, result)
    model = case.model
    limit = min(result.trusted_until, result.phase_known_until)
    if case.t_end > limit:
        return
    others = {}
    if case.t_end * np.linalg.norm(model.V, 2) <= SHORT:
        others |= {"explicit": {"method": "explicit"}, "implicit": {"method": "implicit"}}
    product = model.K.T @ model.Q
    same = np.array_equal(product, product[0, 0] * np.eye(model.d))
    if model.d <= 3 and same and model.beta * product[0, 0] < 1e4:
        others |= {"harmonic": {"sums": "harmonic"}, "direct": {"sums": "direct"}}
    check_agree(case, result, **others)


@pytest.mark.parametrize("first", range(0, CASES, GROUP))
def test_random_models(first):
    for number in range(first, min(first + GROUP, CASES)):
        check(number)


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        chosen = make(int(argument))
        print(chosen.about)
        print(chosen.model.V, chosen.model.Q, chosen.model.K, chosen.tokens, sep="\n")
        result = run(chosen)
        print(result, result and result.stats)
        check(int(argument))
