"""Sums in linear time: as good as direct ones, where they claim to be, and never used elsewhere."""

from __future__ import annotations

import json
import tracemalloc

import mpmath
import numpy as np
import pytest
from conftest import EPS, random_model, worst
from hypothesis import example, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import parkade as pk
from parkade import sums as choice
from parkade.cli import app
from parkade.engine import METHODS, harmonic, harmonic_linear, linear, pairwise, simd, solve
from parkade.engine.features import CHUNK, DIMENSIONS
from parkade.engine.simd import LOG2E
from parkade.engine.system import prepare, unrolled
from parkade.engine.velocity import velocity, velocity_batch
from parkade.sweeps.recipe import Recipe

ACCURACY = 1e-11
BETAS = [1.0, 9.0, 64.0, 256.0]

both = pytest.mark.parametrize("d", [2, 3])
masks = pytest.mark.parametrize("mask", ["causal", "full"])
betas = pytest.mark.parametrize("beta", BETAS)


def systems(model, n, frozen=None, weights=None, accuracy=ACCURACY):
    """The model with direct and with harmonic sums, as `parkade.sums` would make them."""
    rate = model.beta * (model.K.T @ model.Q)[0, 0]
    mass = n if weights is None else n + np.sum(weights)
    table = DIMENSIONS[model.d].table(rate, accuracy / (4 * mass))
    direct = prepare(model, frozen, weights)
    return direct, prepare(model, frozen, weights, table=table, accuracy=accuracy)


def values(name, d):
    """A value matrix by name."""
    diagonal = np.diag([1.0] * (d - 1) + [-1.0])
    return {"I": np.eye(d), "diag": diagonal, "random": random_model(d, seed=d).V}[name]


def size(V):
    """What an error of a mean is at most multiplied with, and at least 1."""
    return max(1.0, np.linalg.norm(V, 2))


CONFIGURATIONS = ["uniform", "clustered", "one point", "antipodal", "adversarial"]


def place(kind, n, d, seed=1):
    """n tokens: spread, or where harmonic sums have the most to lose."""
    rng = np.random.default_rng(seed)
    x = pk.sphere.uniform(n, d, seed=rng)
    if kind == "clustered":  # 8 clusters of width 1e-4
        x = x[rng.integers(min(n, 8), size=n)] + 1e-4 * rng.standard_normal((n, d))
    elif kind == "one point":
        x[:] = x[0]
    elif kind == "antipodal":
        x = x[:1] * rng.choice([-1.0, 1.0], size=(n, 1))
    elif kind == "adversarial":  # a heavy cluster in front, and isolated tokens far from it
        few = min(40, n // 2)
        x[: n - few] = np.eye(d)[0] + 1e-3 * rng.standard_normal((n - few, d))
        x[n - few :, 0] = -np.abs(x[n - few :, 0])
    return pk.sphere.normalize(x)


# --- velocities --------------------------------------------------------------------------

SIZES = [1, 2, 63, 64, 65, 255, 256, 257, 300]


@both
@masks
@betas
@pytest.mark.parametrize("kind", CONFIGURATIONS)
def test_velocities_are_those_of_direct_sums(kind, beta, mask, d):
    for n in SIZES:
        x = place(kind, n, d)
        for name in ("I", "diag", "random"):
            model = pk.Attention(d, beta, V=values(name, d), mask=mask)
            direct, fast = systems(model, n)
            error = worst(velocity(fast, x), velocity(direct, x))
            assert error <= ACCURACY * size(model.V), (n, name, error)


@both
@masks
@pytest.mark.parametrize(
    ("kind", "beta", "name"),
    [
        ("uniform", 256.0, "I"),
        ("clustered", 64.0, "random"),
        ("adversarial", 64.0, "diag"),
        ("adversarial", 9.0, "I"),
        ("antipodal", 1.0, "random"),
    ],
)
def test_velocities_of_many_tokens_are_those_of_direct_sums(kind, beta, name, mask, d):
    x = place(kind, 5000, d)
    model = pk.Attention(d, beta, V=values(name, d), mask=mask)
    direct, fast = systems(model, len(x))
    assert worst(velocity(fast, x), velocity(direct, x)) <= ACCURACY * size(model.V)


@settings(max_examples=100)
@given(
    d=st.sampled_from([2, 3]),
    n=st.integers(1, 600),
    m=st.sampled_from([0, 0, 1, 5]),
    beta=st.one_of(st.sampled_from(BETAS), st.floats(1e-3, 300)),
    name=st.sampled_from(["I", "diag", "random"]),
    mask=st.sampled_from(["causal", "full"]),
    kind=st.sampled_from(CONFIGURATIONS),
    seed=st.integers(0, 2**32 - 1),
)
@example(2, 600, 5, 300.0, "random", "causal", "adversarial", 1)
@example(3, 600, 5, 300.0, "random", "full", "adversarial", 1)
def test_velocities_of_anything_are_those_of_direct_sums(d, n, m, beta, name, mask, kind, seed):
    x = place(kind, n, d, seed)
    frozen, weights = None, None
    if m:
        frozen = pk.sphere.uniform(m, d, seed=seed)
        weights = np.random.default_rng(seed).uniform(0.5, 20, m)
    model = pk.Attention(d, beta, V=values(name, d), mask=mask)
    direct, fast = systems(model, n, frozen, weights)
    assert worst(velocity(fast, x), velocity(direct, x)) <= ACCURACY * size(model.V)


@both
@masks
@pytest.mark.parametrize(("q", "k"), [(0.5, 2.0), (2.0, 3.0), (-1.0, -4.0)])
def test_multiples_of_the_identity_scale_beta(q, k, mask, d):
    x = place("clustered", 300, d)
    model = pk.Attention(d, 9.0, Q=q * np.eye(d), K=k * np.eye(d), mask=mask)
    _, fast = systems(model, len(x))
    scaled = pk.Attention(d, 9.0 * q * k, mask=mask)
    assert worst(velocity(fast, x), scaled.velocity(x)) <= ACCURACY


@both
@masks
@pytest.mark.parametrize("weight", [1.0, 30.0, 1e6])
@pytest.mark.parametrize("kind", ["uniform", "clustered", "adversarial"])
def test_frozen_tokens_may_be_heavy(kind, weight, mask, d):
    # Mass 1e6 in one place: tokens that do not feel it must not feel its rounding either.
    x = place(kind, 300, d)
    frozen = np.concatenate([-np.eye(d)[:1], pk.sphere.uniform(6, d, seed=5)])
    weights = np.array([weight, 1.0, 2.5, 0.1, 1.0, 7.0, 1.0])
    for beta in (9.0, 64.0):
        for name in ("I", "random"):
            model = pk.Attention(d, beta, V=values(name, d), mask=mask)
            direct, fast = systems(model, len(x), frozen, weights)
            error = worst(velocity(fast, x), velocity(direct, x))
            assert error <= ACCURACY * size(model.V), (beta, name, error)


def sample(n, count=60):
    """Tokens to look at: first and last ones, and some between."""
    first, last = np.arange(20), np.arange(n - 20, n)
    return np.concatenate([first, np.linspace(20, n - 21, count - 40).astype(int), last])


@pytest.mark.parametrize(
    ("d", "beta", "kind"),
    [(2, beta, kind) for beta in BETAS for kind in ("uniform", "clustered", "adversarial")]
    + [(3, beta, kind) for beta in (1.0, 9.0) for kind in ("uniform", "clustered", "adversarial")]
    + [(3, 64.0, "adversarial"), (3, 64.0, "clustered"), (3, 256.0, "adversarial")],
)
def test_a_hundred_thousand_tokens(d, beta, kind):
    n = 100_000
    x = place(kind, n, d)
    direct, fast = systems(pk.Attention(d, beta), n, accuracy=1e-10)
    found, exact = velocity(fast, x), np.empty_like(x)
    chosen = sample(n)
    for k in chosen:
        pairwise.velocity_rows(direct, unrolled(d), x, k, k + 1, exact)
    assert worst(found[chosen], exact[chosen]) <= 1e-10


@both
def test_a_hundred_thousand_tokens_under_full_attention(d):
    n = 100_000
    x = place("adversarial", n, d)
    direct, fast = systems(pk.Attention(d, 9.0, mask="full"), n, accuracy=1e-10)
    found, exact = velocity(fast, x), np.empty_like(x)
    chosen = sample(n)
    for k in chosen:
        pairwise.velocity_rows(direct, unrolled(d), x, k, k + 1, exact)
    assert worst(found[chosen], exact[chosen]) <= 1e-10


@both
@masks
def test_velocity_is_tangent(mask, d):
    x = place("uniform", 300, d)
    for name in ("I", "diag", "random"):
        model = pk.Attention(d, 9.0, V=values(name, d), mask=mask)
        v = velocity(systems(model, 300)[1], x)
        assert np.abs(np.sum(x * v, axis=1)).max() <= 4 * d * EPS * size(model.V)


# --- what must be precise ----------------------------------------------------------------


def exact_velocity(x, beta, k):
    """The definition with V = I for one token among those before it, in 200 digits."""
    with mpmath.workdps(200):
        rows = [[mpmath.mpf(float(c)) for c in row] for row in x[: k + 1]]
        rows = [[c / mpmath.norm(row) for c in row] for row in rows]
        own = rows[-1]
        weights = [mpmath.exp(beta * (mpmath.fdot(own, row) - 1)) for row in rows]
        pull = [mpmath.fdot(weights, column) for column in zip(*rows, strict=True)]
        along = mpmath.fdot(pull, own)
        total = mpmath.fsum(weights)
        return np.array([float((p - along * c) / total) for p, c in zip(pull, own, strict=True)])


def lone_pair(d, angle, n=300):
    """A cluster in front, at `angle` from it a lone token, and next to that one a follower."""
    rng = np.random.default_rng(4)
    x = np.zeros((n, d))
    x[:, 0] = 1.0
    x[-2, :2] = np.cos(angle), np.sin(angle)
    x[-1, :2] = np.cos(angle + 0.1), np.sin(angle + 0.1)
    x[:-2] += 0.01 * rng.standard_normal((n - 2, d))
    return pk.sphere.normalize(x)


@both
@pytest.mark.parametrize(
    ("beta", "angle", "large", "small"),
    [(64.0, 1.0, 1e-9, 1e-11), (64.0, 2.5, 1e-47, 1e-51), (256.0, 2.0, 1e-140, 1e-160)],
)
def test_a_lone_token_has_its_force_to_all_digits(beta, angle, large, small, d):
    x = lone_pair(d, angle)
    fast = velocity(systems(pk.Attention(d, beta), len(x))[1], x)
    exact = exact_velocity(x, beta, len(x) - 2)
    assert small < np.linalg.norm(exact) < large
    # Scores of up to 2β, each good to a few EPS.
    assert np.linalg.norm(fast[-2] - exact) <= 1e-12 * np.linalg.norm(exact)
    follower = exact_velocity(x, beta, len(x) - 1)
    assert np.linalg.norm(follower) > 0.01
    assert np.linalg.norm(fast[-1] - follower) <= 1e-11 * np.linalg.norm(follower)


def reference(x, causal, beta, V):
    """The definition in extended precision: velocities, and Σ w of the other tokens."""
    x = x.astype(np.longdouble)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    found, others = np.empty_like(x), np.empty(len(x))
    for k in range(len(x)):
        keys = x[:k] if causal else np.delete(x, k, axis=0)
        delta = keys - x[k]
        weights = np.exp(-beta / 2 * np.sum(delta**2, axis=1))
        others[k] = np.sum(weights)
        q = V @ (x[k] + np.sum(weights[:, None] * delta, axis=0) / (1 + np.sum(weights)))
        found[k] = q - (x[k] @ q) * x[k]
    return found, others


@both
@masks
@betas
@pytest.mark.parametrize("kind", ["uniform", "clustered", "adversarial"])
def test_errors_are_within_the_estimate(kind, beta, mask, d):
    """`is_lone` relies on ROUNDING · mass / (1 + Σw), so it must hold where nothing else helps."""
    V = values("diag", d)  # of norm 1, and not a multiple of I: the whole mean counts
    causal = mask == "causal"
    for n in (10, 500):
        x = place(kind, n, d, seed=n)
        table = DIMENSIONS[d].table(beta, 1e-18)
        model = pk.Attention(d, beta, V=V, mask=mask)
        fast = velocity(prepare(model, table=table, accuracy=np.inf), x)
        exact, others = reference(x, causal, beta, V)
        mass = np.arange(n) if causal else n
        error = np.linalg.norm((fast - exact).astype(float), axis=1)
        # The second term is for the sum of means and x, and its projection.
        assert np.all(error <= harmonic.ROUNDING * mass / (1 + others) + 8 * EPS)


@both
def test_errors_of_large_sums_are_within_the_estimate(d):
    # 3e4 tokens in front of a few that feel little of them, but enough not to be lone.
    n, beta, few = 30_000, 64.0, 30
    rng = np.random.default_rng(7)
    x = place("adversarial", n, d)
    x[-few:] = -np.eye(d)[0] + 0.2 * rng.standard_normal((few, d))
    x = pk.sphere.normalize(x)
    table = DIMENSIONS[d].table(beta, 1e-18)
    model = pk.Attention(d, beta)
    fast = velocity(prepare(model, table=table, accuracy=np.inf), x)
    exact = np.empty_like(x)
    pairwise.velocity_rows(prepare(model), unrolled(d), x, n - few, n, exact)
    delta = x[None, -few:] - x[-few:, None]
    weights = np.tril(np.exp(-beta / 2 * np.sum(delta**2, axis=2)), -1)
    others = np.sum(weights, axis=1)
    assert np.sum((others > harmonic.LONE) & (others < 2)) >= 3
    error = np.linalg.norm(fast - exact, axis=1)[-few:]
    assert np.all(error <= harmonic.ROUNDING * n / (1 + others) + 8 * EPS)
    # And it is an estimate of what there is: direct sums are needed for what asks for more.
    assert np.max(error) > 1e-4 * harmonic.ROUNDING * n
    _, careful = systems(model, n, accuracy=1e-14)
    assert np.max(np.linalg.norm(velocity(careful, x) - exact, axis=1)[-few:]) <= 2e-14


@pytest.mark.parametrize(
    ("other", "mass", "accuracy", "lone"),
    [
        (1.0, 1e3, 1e-11, False),
        (0.0, 1e3, 1e-11, True),
        (0.99 * harmonic.LONE, 1.0, 1.0, True),
        (1.01 * harmonic.LONE, 1.0, 1.0, False),
        (-1e-12, 1.0, 1.0, True),  # rounding of nothing
        (np.nan, 1.0, 1.0, True),
        (0.0625, 1e5, 1e-10, True),  # ROUNDING·mass = 1.8e-10
        (2.0, 1e5, 1e-10, False),
    ],
)
def test_who_is_summed_directly(other, mass, accuracy, lone):
    assert harmonic.is_lone(other, mass, accuracy) == lone


# --- the same bits -----------------------------------------------------------------------


@masks
def test_bits_do_not_depend_on_threads_or_batches(mask):
    n = 40_000
    assert n > 2 * harmonic.GROUP  # or there is nothing to share out
    x = np.stack([place("uniform", n, 2), place("clustered", n, 2)])
    _, fast = systems(pk.Attention(2, 9.0, mask=mask), n)
    serial = np.empty_like(x)
    for one, out in zip(x, serial, strict=True):
        harmonic.whole(fast, unrolled(2), one, out)
    for count in (1, 2, 3):
        assert np.array_equal(velocity(fast, x[0], threads=count), serial[0])
        assert np.array_equal(velocity(fast, x, threads=count), serial)
    batch = np.empty_like(x)
    velocity_batch(fast, unrolled(2), x, batch)
    assert np.array_equal(batch, serial)


@masks
def test_bits_on_the_sphere_do_not_depend_on_threads(mask):
    n = 20_000
    assert n > harmonic.GROUP
    x = place("clustered", n, 3)
    frozen, weights = place("uniform", 70, 3), np.linspace(1, 5, 70)
    _, fast = systems(pk.Attention(3, 1.0, mask=mask), n, frozen, weights)
    serial = np.empty_like(x)
    harmonic.whole(fast, unrolled(3), x, serial)
    for count in (1, 2, 3):
        assert np.array_equal(velocity(fast, x, threads=count), serial)


@both
def test_first_rows_do_not_depend_on_later_tokens(d):
    x = place("clustered", 700, d)
    _, fast = systems(pk.Attention(d, 20.0), len(x))
    whole = velocity(fast, x)
    for cut in (1, CHUNK - 1, CHUNK + 1, harmonic.FOLD, harmonic.FOLD + 5, 600):
        assert np.array_equal(velocity(fast, x[:cut]), whole[:cut])
        elsewhere = np.concatenate([x[:cut], -x[cut:]])
        assert np.array_equal(velocity(fast, elsewhere)[:cut], whole[:cut])


def test_the_first_groups_do_not_depend_on_later_tokens():
    x = place("uniform", 40_000, 2)
    _, fast = systems(pk.Attention(2, 9.0), len(x))
    cut = harmonic.GROUP + 1000
    assert np.array_equal(velocity(fast, x[:cut]), velocity(fast, x)[:cut])


def test_the_error_of_a_run_is_measured_against_direct_sums():
    x = place("uniform", 300, 2)
    direct, fast = systems(pk.Attention(2, 9.0), len(x))
    wrong = fast._replace(table=fast.table * (1 + 1e-3))
    chosen = [0, 17, 150, 299]
    expected = np.abs(velocity(wrong, x) - velocity(direct, x))[chosen].max()
    found = harmonic.error(wrong, unrolled(2), x, chosen)
    assert found == pytest.approx(expected, rel=1e-6)
    assert found > 1e-7
    assert harmonic.error(fast, unrolled(2), x, chosen) <= ACCURACY


# --- the linearised flow -----------------------------------------------------------------


def linearized(model, x, frozen=None, weights=None):
    """The linearisation by direct and by harmonic sums, each with its system."""
    direct, fast = systems(model, len(x), frozen, weights, accuracy=1e-12)
    expected = linear.allocate(*x.shape, causal=True)
    linear.linearize(direct, direct.A / LOG2E, x, expected)
    found = linear.allocate(*x.shape, causal=True, stores=False)
    harmonic_linear.linearize(fast, unrolled(model.d), fast.A / LOG2E, x, found)
    return (direct, expected), (fast, found)


def solutions(pair, other, x, right, shift):
    """u of (shift − J) u = right by direct and by harmonic sums, (n, d)."""
    n, d = x.shape
    results = []
    for kind, (system, lin) in enumerate((pair, other)):
        count = -(-(d - 1) // simd.WIDTH) * simd.WIDTH
        inverses, u = np.empty((n, d - 1, count)), np.zeros((d, linear.padded(n)))
        solve.invert(lin.blocks, shift, inverses)
        if kind == 0:
            solve.solve(system, lin, inverses, right, u)
        else:
            harmonic_linear.solve(system, unrolled(d), x, lin, inverses, right, u)
        results.append(np.ascontiguousarray(u[:, :n].T))
    return results


def tangent(x, seed=0):
    """Random tangent vectors."""
    v = np.random.default_rng(seed).standard_normal(x.shape)
    return v - np.sum(v * x, axis=1, keepdims=True) * x


@both
@pytest.mark.parametrize("beta", [1.0, 9.0, 64.0])
@pytest.mark.parametrize("name", ["I", "diag", "random"])
@pytest.mark.parametrize("kind", ["uniform", "clustered", "adversarial"])
@pytest.mark.parametrize("held", [False, True], ids=["free", "frozen"])
def test_linearisation_is_that_of_direct_sums(held, kind, name, beta, d):
    for n in (100, 257, 300):
        x = place(kind, n, d, seed=n)
        frozen = pk.sphere.uniform(5, d, seed=3) if held else None
        weights = np.array([1.0, 2.5, 40.0, 0.3, 1.0]) if held else None
        model = pk.Attention(d, beta, V=values(name, d))
        pair, other = linearized(model, x, frozen, weights)
        expected, found = pair[1], other[1]
        for part in ("shares", "pull", "mean", "velocity", "blocks"):
            one, two = getattr(found, part), getattr(expected, part)
            assert np.abs(one - two).max() <= 1e-11 * max(np.abs(two).max(), 1e-3), part
        assert np.array_equal(found.axes, expected.axes)
        # A shift beyond the growth rates, so that the system does not amplify errors itself.
        shift = 2 * np.abs(expected.blocks).max() + 1.0
        one, two = solutions(pair, other, x, tangent(x), shift)
        assert np.abs(one - two).max() <= 1e-11 * np.abs(one).max()


@both
def test_what_a_token_feels_of_others_matters_in_these_tests(d):
    # Were off-diagonal blocks small against the diagonal, solutions would not show them.
    x = place("uniform", 300, d)
    pair, other = linearized(pk.Attention(d, 9.0), x)
    right = tangent(x)
    right[1:] = 0.0
    one, two = solutions(pair, other, x, right, 1.0)
    assert np.abs(one[1:]).max() > 1e-2 * np.abs(one[0]).max()
    assert np.abs(one - two)[1:].max() <= 1e-11 * np.abs(one[1:]).max()


@both
@pytest.mark.parametrize("angle", [1.9, 2.3])
def test_a_lone_token_is_linearised_to_all_digits(angle, d):
    # β = 64: weights of 1e-37 and 1e-47.
    x = lone_pair(d, angle)
    pair, other = linearized(pk.Attention(d, 64.0), x)
    expected, found = pair[1], other[1]
    assert found.lone[-2]
    assert not found.lone[-1]
    for part in ("mean", "velocity", "blocks"):
        one, two = getattr(found, part)[-2], getattr(expected, part)[-2]
        assert 0 < np.linalg.norm(two) < 1e-32
        assert np.linalg.norm(one - two) <= 1e-10 * np.linalg.norm(two), part
    assert found.shares[1, -2] == pytest.approx(expected.shares[1, -2], rel=1e-10)
    right = tangent(x)
    right[-2:] = 0.0  # what the lone token does, it does because of those far away
    one, two = solutions(pair, other, x, right, 1.0)
    assert 0 < np.linalg.norm(one[-2]) < 1e-30
    assert np.linalg.norm(one[-2] - two[-2]) <= 1e-10 * np.linalg.norm(one[-2])


def test_the_first_token_is_lone():
    x = place("one point", 10, 2)
    _, other = linearized(pk.Attention(2, 9.0), x)
    assert other[1].lone.tolist() == [True] + [False] * 9


# --- whole runs --------------------------------------------------------------------------


def runs(model, x0, t_end, **options):
    """The run with direct and with harmonic sums."""
    found = [pk.simulate(model, x0, t_end, sums=sums, **options) for sums in ("direct", "harmonic")]
    assert [run.stats.sums for run in found] == ["direct", "harmonic"]
    return found


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(
    ("n", "beta", "t_end", "V"),
    [
        (100, 64.0, 1e60, [1, 1]),
        (60, 16.0, 1e40, [1, 1, 1]),
        (60, 16.0, 1e40, [1, 1, -1]),
    ],
    ids=["circle", "sphere", "sphere, diag"],
)
def test_clusters_merge_when_they_do_with_direct_sums(n, beta, t_end, V, seed):
    x0 = pk.sphere.uniform(n, len(V), seed=seed)
    direct, fast = runs(pk.Attention(V=V, beta=beta), x0, t_end)
    assert direct.stats.method == "implicit"
    one, two = direct.merge_tree(), fast.merge_tree()
    assert len(one.events) == n - 1
    for a, b in zip(one.events, two.events, strict=True):
        assert (a.absorbed, a.into, a.size) == (b.absorbed, b.into, b.size)
        assert a.time == pytest.approx(b.time, rel=1e-6, abs=0)
    # Both take the same steps but for rounding: they agree far better than to tol.
    for t in (1.0, 100.0, 1e5):
        assert worst(fast.at(t), direct.at(t)) <= 1e-9
    assert worst(fast.final, direct.final) <= 1e-9


@both
@masks
def test_explicit_runs_end_where_direct_ones_do(mask, d):
    model = pk.Attention(d, 9.0, V=values("diag", d), mask=mask)
    direct, fast = runs(model, pk.sphere.uniform(80, d, seed=5), 50.0, method="explicit")
    # Steps are the same unless rounding decides on one, and errors shrink with the distances.
    assert worst(fast.final, direct.final) <= 1e-9


@both
@pytest.mark.parametrize("method", ["explicit", "implicit"])
def test_runs_with_frozen_tokens_end_where_direct_ones_do(method, d):
    frozen, weights = pk.sphere.uniform(3, d, seed=6), np.array([1.0, 20.0, 0.5])
    direct, fast = runs(
        pk.Attention(d, 9.0),
        pk.sphere.uniform(80, d, seed=5),
        30.0,
        method=method,
        frozen=frozen,
        frozen_weights=weights,
    )
    assert worst(fast.final, direct.final) <= 1e-9


@both
def test_runs_with_multiples_of_the_identity_end_where_direct_ones_do(d):
    model = pk.Attention(d, 3.0, Q=2.0, K=1.5)
    direct, fast = runs(model, pk.sphere.uniform(80, d, seed=5), 10.0)
    assert worst(fast.final, direct.final) <= 1e-9


def test_many_runs_have_the_bits_of_one():
    starts = [pk.sphere.uniform(200, 2, seed=s) for s in range(3)]
    model = pk.Attention(2, 64.0)
    together = pk.simulate_many(model, starts, 1e5, sums="harmonic", threads=2)
    for run, x0 in zip(together, starts, strict=True):
        alone = pk.simulate(model, x0, 1e5, sums="harmonic", times="final")
        assert np.array_equal(run.final, alone.final)


# --- which sums --------------------------------------------------------------------------

LARGE, SMALL = pk.sphere.uniform(400, 2, seed=1), pk.sphere.uniform(10, 2, seed=1)


def brief_run(model, x0, t_end=0.01, **options):
    return pk.simulate(model, x0, t_end, times="final", **options).stats


def test_many_tokens_on_the_circle_are_summed_in_linear_time():
    stats = brief_run(pk.Attention(2, 9.0), LARGE)
    assert stats.sums == "harmonic"
    assert stats.sums_reason == "faster for n=400 tokens"
    assert stats.engine.startswith("Fourier sums, ")


def test_many_tokens_on_the_sphere_are_summed_in_linear_time():
    stats = brief_run(pk.Attention(3, 4.0), pk.sphere.uniform(3000, 3, seed=1))
    assert stats.sums == "harmonic"
    assert stats.engine.startswith("spherical harmonics, ")


@pytest.mark.parametrize(
    ("model", "x0", "options", "reason"),
    [
        (pk.Attention(2, 9.0), SMALL, {}, "faster for n=10 tokens"),
        (pk.Attention(2, 9.0), LARGE, {"sums": "direct"}, "asked for"),
        (pk.Attention(2, 9.0), LARGE, {"tol": 1e-12}, "tol=1e-12 asks for more than"),
        (pk.Attention(4, 9.0), pk.sphere.uniform(400, 4, seed=1), {}, "known for d = 2 and 3"),
        (random_model(2), LARGE, {}, "KᵀQ is not a multiple of the identity"),
        (pk.Attention(2, 9.0, Q=-1.0), LARGE, {}, "β KᵀQ is not positive"),
        (pk.Attention(2, 0.0), LARGE, {}, "β KᵀQ is not positive"),
        (
            pk.Attention(2, 9.0, mask="full"),
            pk.sphere.uniform(200, 2, seed=1),
            {"method": "implicit"},
            "the implicit method needs all weights under full attention",
        ),
    ],
    ids=["few", "asked", "tol", "d=4", "random", "negative", "zero", "full"],
)
def test_where_direct_sums_are_better_or_needed_they_are_used(model, x0, options, reason):
    stats = brief_run(model, x0, **options)
    assert stats.sums == "direct"
    assert reason in stats.sums_reason
    assert stats.engine.startswith("direct sums")


@pytest.mark.parametrize(
    ("model", "x0", "options"),
    [
        (pk.Attention(4, 9.0), np.eye(4), {}),
        (random_model(2), SMALL, {}),
        (pk.Attention(2, 9.0, Q=-1.0), SMALL, {}),
        (pk.Attention(2, 9.0, mask="full"), SMALL, {"method": "implicit"}),
    ],
    ids=["d=4", "random", "negative", "full"],
)
def test_harmonic_sums_are_refused_where_there_are_none(model, x0, options):
    message = r"^harmonic sums cannot be used: [^.]+; use sums='direct'$"
    with pytest.raises(pk.InputError, match=message):
        brief_run(model, x0, sums="harmonic", **options)


def test_harmonic_sums_may_be_asked_for_where_direct_ones_are_faster():
    stats = brief_run(pk.Attention(2, 9.0), SMALL, sums="harmonic")
    assert (stats.sums, stats.sums_reason) == ("harmonic", "asked for")


@pytest.mark.parametrize("simulate", [pk.simulate, pk.simulate_many])
def test_unknown_sums_are_refused(simulate):
    x0 = SMALL if simulate is pk.simulate else [SMALL]
    with pytest.raises(pk.InputError, match=r"sums must be one of 'auto', 'direct', 'harmonic'"):
        simulate(pk.Attention(2), x0, 1.0, sums="nonsense")


@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-8])
def test_sums_are_more_accurate_than_steps(tol):
    found = choice.choose(pk.Attention(2, 9.0), 1000, tol, "auto", 0)
    assert found.name == "harmonic"
    assert 1e-14 <= found.accuracy <= max(1e-14, 1e-4 * tol)


# --- a run checks its sums ---------------------------------------------------------------


@pytest.fixture
def wrong_coefficients(monkeypatch):
    """Coefficients that are wrong by 1e-6."""

    def table(d, beta, tail):
        good = DIMENSIONS[d].table(beta, tail)
        rows = slice(0, 5) if d == 2 else slice(1, 3)
        good[rows] *= 1 + 1e-6
        return good

    choice._table.cache_clear()
    monkeypatch.setattr(choice, "_table", table)


@pytest.mark.parametrize("method", ["explicit", "implicit"])
@pytest.mark.usefixtures("wrong_coefficients")
def test_a_run_with_wrong_sums_is_done_again(method):
    run = pk.simulate(pk.Attention(2, 9.0), LARGE, 5.0, method=method)
    assert run.stats.sums == "direct"
    assert run.stats.engine.startswith("direct sums")
    assert run.stats.sums_reason.startswith("done again: at t=")
    assert "harmonic sums were wrong by" in run.stats.sums_reason
    expected = pk.simulate(pk.Attention(2, 9.0), LARGE, 5.0, method=method, sums="direct")
    assert np.array_equal(run.tokens, expected.tokens)
    assert np.array_equal(run.times, expected.times)


@both
@pytest.mark.usefixtures("wrong_coefficients")
def test_wrong_sums_that_were_asked_for_are_an_error(d):
    message = r"^at t=\S+ harmonic sums were wrong by \S+ instead of 1e-11; use sums='direct'$"
    with pytest.raises(pk.errors.InaccurateSumsError, match=message):
        pk.simulate(pk.Attention(d, 9.0), place("uniform", 100, d), 5.0, sums="harmonic")


@both
@pytest.mark.parametrize(("beta", "weight"), [(9.0, 1e5), (16.0, 1e4), (20.0, 1e8)])
def test_heavy_frozen_tokens_do_not_spoil_the_sums_of_a_run(beta, weight, d):
    # Series are cut off with an error per unit of mass, and one token may have a lot of it.
    direct, fast = runs(
        pk.Attention(d, beta),
        pk.sphere.uniform(5, d, seed=1),
        0.1,
        tol=1e-5,
        frozen=np.eye(d)[:1],
        frozen_weights=[weight],
    )
    # A velocity may be wrong by 1e-10.
    assert worst(fast.final, direct.final) <= 1e-10


def test_a_velocity_that_is_not_a_number_is_noticed():
    x = place("uniform", 100, 2)
    _, fast = systems(pk.Attention(2, 9.0), len(x))
    broken = fast._replace(table=fast.table.copy())
    broken.table[1] = np.nan  # of Σ w sin Δ: the weights, and with them `is_lone`, see nothing
    assert np.isnan(velocity(broken, x)[50]).all()
    assert not harmonic.error(broken, unrolled(2), x, [50]) <= ACCURACY


# --- memory and trust --------------------------------------------------------------------


def test_implicit_runs_with_harmonic_sums_store_no_weights():
    space = METHODS["implicit"].workspace_bytes
    for d in (2, 3):
        assert space(1_000_000, d, causal=True, stores=False) < 2**32
        assert space(1_000_000, d, causal=True) > 1e12


def test_an_implicit_run_takes_little_memory():
    x0 = pk.sphere.uniform(20_000, 2, seed=1)
    model = pk.Attention(2, 9.0)
    pk.simulate(model, x0[:100], 1e-3, method="implicit", times="final", sums="harmonic")
    tracemalloc.start()
    try:
        run = pk.simulate(model, x0, 1e-3, method="implicit", times="final")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert run.stats.sums == "harmonic"
    assert peak < 200e6  # weights alone would take 1.6 GB
    # What is announced is what is taken, but for the chunk of steps that a run hands over.
    announced = METHODS["implicit"].workspace_bytes(20_000, 2, causal=True, stores=False)
    assert 0.3 * announced < peak < announced + 100e6


def test_trust_ends_earlier_with_the_noise_of_harmonic_sums():
    # Forces of 1e-56 between two clusters: from the start nothing but noise could move them.
    x0 = pk.sphere.from_angles([0.0] * 5 + [3.0] * 5)
    model = pk.Attention(2, 64.0, mask="full")
    options = {"method": "explicit", "times": "final"}
    limits = {}
    for sums in ("direct", "harmonic"):
        with pytest.warns(pk.TrustWarning, match="rounding, not the model"):
            run = pk.simulate(model, x0, 6000.0, tol=1e-11, sums=sums, **options)
        limits[sums] = run.trusted_until
    # tol over the speeds 1e-14 and 16 EPS, each times |V| = √2
    assert limits["harmonic"] == pytest.approx(1e-11 / (1e-14 * 2**0.5))
    assert limits["direct"] == pytest.approx(1e-11 / (16 * EPS * 2**0.5))
    assert pk.simulate(model, x0, 1e5, sums="direct", **options).trusted_until == np.inf
    with pytest.warns(pk.TrustWarning):
        run = pk.simulate(model, x0, 1e5, sums="harmonic", **options)
    assert run.trusted_until == pytest.approx(1e-6 / (1e-11 * 2**0.5))


# --- ensembles and the command -----------------------------------------------------------


def test_ensembles_with_harmonic_sums_have_the_same_bits_on_any_workers():
    options = {"d": 2, "n": 60, "runs": 4, "t_end": 100.0, "beta": [9.0, 64.0], "batch": 2}
    one, two = (
        pk.ensemble(**options, measure=("final", "clusters"), sums="harmonic", workers=workers)
        for workers in (1, 2)
    )
    assert one.identical(two)
    assert all(one[name].values.tobytes() == two[name].values.tobytes() for name in one)
    assert json.loads(one.attrs["recipe"])["sums"] == "harmonic"
    # The sums asked for are the ones used.
    direct = pk.ensemble(**options, measure="final", sums="direct", workers=1)
    assert not np.array_equal(one.final, direct.final)
    np.testing.assert_allclose(one.final, direct.final, atol=1e-7)


def test_an_old_recipe_was_made_with_direct_sums():
    data = json.loads(pk.ensemble(d=2, n=4, runs=1, t_end=1.0).attrs["recipe"])
    assert data.pop("sums") == "auto"
    assert Recipe.from_json(json.dumps(data)).sums == "direct"


def test_ensembles_refuse_unknown_sums():
    with pytest.raises(pk.InputError, match=r"sums must be one of 'auto', 'direct', 'harmonic'"):
        pk.ensemble(d=2, n=4, runs=1, t_end=1.0, sums="nonsense")


def command(*args):
    return CliRunner().invoke(app, ["simulate", *map(str, args)])


def test_the_command_sums_as_it_is_told():
    done = command("--n", 20, "--d", 2, "--t-end", 1, "--sums", "harmonic")
    assert done.exit_code == 0
    assert "Fourier sums" in done.stdout
    assert "asked for" in done.stdout
    done = command("--n", 20, "--d", 2, "--t-end", 1)
    assert "direct sums, tiles: faster for n=20 tokens" in done.stdout


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--d", 4, "--sums", "harmonic"], "harmonic sums cannot be used: they are known for"),
        (["--d", 2, "--sums", "nonsense"], "sums must be one of 'auto', 'direct', 'harmonic'"),
    ],
)
def test_the_command_refuses_in_a_sentence(options, sentence):
    done = command("--n", 5, "--t-end", 1, *options)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert sentence in done.stderr
