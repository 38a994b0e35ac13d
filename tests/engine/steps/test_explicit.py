"""Dormand–Prince on the sphere: its order, its errors against exact solutions, the physics."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import brentq
from support.common import EPS, random_model, random_rotation, slope, worst
from support.steps import equal_steps
from support.transformers import TwoTokens, by_dop853

import parkade as pk
from parkade.engine.steps.explicit import EXPLICIT
from parkade.solve.lowering.lower import prepare

TOLERANCES = [1e-4, 1e-6, 1e-8, 1e-10]

# Value matrices whose flow of one token is different in kind.
VALUES = {
    "symmetric": [[1.0, 0.5, 0.0], [0.5, -1.0, 0.3], [0.0, 0.3, 0.2]],
    "non-normal": [[1.0, 5.0, -2.0], [0.0, 0.5, 4.0], [0.0, 0.0, -1.0]],
    "defective": [[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]],
    "complex pair": [[0.1, -2.0, 0.0], [2.0, 0.1, 0.5], [0.0, 0.0, -1.0]],
}


def one_token(V, x0, t):
    """Lemma 3.1: e^{tV} x / |e^{tV} x|."""
    return pk.sphere.normalize(expm(t * np.asarray(V)) @ x0[0])[None]


def two_tokens(beta, x0, t):
    """V = I on the circle: the first token rests, the angle to the second by quadrature."""
    first, second = pk.sphere.angles(x0)
    two, start = TwoTokens("post", beta, second - first), np.log(second - first)
    # In log φ: the angle ends exponentially small.
    log_phi = brentq(lambda u: two.time(np.exp(u)) - t, start - t, start, xtol=1e-14)
    return pk.sphere.from_angles([first, first + np.exp(log_phi)])


# Model, start, exact solution, horizon, and the largest step at which the order shows.
EXACT = {
    "one token": (
        pk.Attention(V=VALUES["symmetric"]),
        pk.sphere.uniform(1, 3, seed=1),
        lambda x0, t: one_token(VALUES["symmetric"], x0, t),
        1.0,
        0.125,
    ),
    "two tokens": (
        pk.Attention(2, beta=1.0),
        pk.sphere.from_angles([0.3, 1.8]),
        lambda x0, t: two_tokens(1.0, x0, t),
        4.0,
        0.5,
    ),
}


@pytest.mark.parametrize("case", EXACT)
def test_global_error_is_of_order_five(case):
    model, x0, exact, t_end, largest = EXACT[case]
    steps = round(t_end / largest) * 2 ** np.arange(4)
    ends = [equal_steps(EXPLICIT, prepare(model), x0, t_end, n).tokens[-1] for n in steps]
    errors = [worst(end, exact(x0, t_end)) for end in ends]
    assert min(errors) > 100 * EPS  # a slope of rounding errors would mean nothing
    assert slope(t_end / steps, errors) == pytest.approx(5, abs=0.3)


@pytest.mark.parametrize("theta", [0.3, 0.7])
@pytest.mark.parametrize("case", EXACT)
def test_dense_output_has_order_four(case, theta):
    # One step of size h from the exact start: a local error of h^5.
    model, x0, exact, _, largest = EXACT[case]
    sizes = largest / 2.0 ** np.arange(1, 5)
    errors = []
    for h in sizes:
        step, inside = equal_steps(EXPLICIT, prepare(model), x0, h, 1), np.empty_like(x0)
        EXPLICIT.interpolate(theta, x0, step.tokens[0], step.dense[0], inside)
        errors.append(worst(inside, exact(x0, theta * h)))
    assert min(errors) > 10 * EPS
    assert slope(sizes, errors) > 4.7


# "Within 10·tol": each step errs by at most tol, and these flows forget or at least do not
# multiply their errors; the fifth-order result is better than the estimate that is held.


@pytest.mark.parametrize("tol", TOLERANCES)
@pytest.mark.parametrize("kind", VALUES)
def test_first_token_follows_the_matrix_exponential(kind, tol):
    V = VALUES[kind]
    x0 = pk.sphere.uniform(1, 3, seed=2)
    run = pk.simulate(pk.Attention(V=V), x0, t_end=10.0, tol=tol, method="explicit")
    for t in (0.5, 2.0, 10.0):
        assert worst(run.at(t), one_token(V, x0, t)) <= 10 * tol


@pytest.mark.parametrize("tol", TOLERANCES)
@pytest.mark.parametrize("beta", [0.0, 4.0, 20.0])
def test_two_tokens_follow_the_quadrature(beta, tol):
    x0 = pk.sphere.from_angles([0.5, 1.7])
    run = pk.simulate(pk.Attention(2, beta), x0, t_end=10.0, tol=tol, method="explicit")
    for t in (0.5, 3.0, 10.0):
        assert worst(run.at(t), two_tokens(beta, x0, t)) <= 10 * tol


@pytest.fixture(scope="module", params=[3, 8])
def reference(request):
    """64 tokens under random Q, K, V, and SciPy's DOP853 on the naive twin."""
    d = request.param
    model, x0 = random_model(d, beta=4.0, seed=1), pk.sphere.uniform(64, d, seed=3)
    times = [0.7, 2.1, 5.0]
    return model, x0, times, by_dop853(model, x0, times, 1e-12)


@pytest.mark.parametrize("tol", TOLERANCES)
def test_many_tokens_agree_with_an_independent_solver(reference, tol):
    model, x0, times, expected = reference
    run = pk.simulate(model, x0, t_end=5.0, tol=tol, method="explicit")
    assert worst(run.at(times), expected) <= 10 * tol


# --- physics -----------------------------------------------------------------------------

TOL = 1e-8


def follow(model, x0, t_end=4.0, **options):
    return pk.simulate(model, x0, t_end, tol=TOL, method="explicit", **options)


@pytest.mark.parametrize("d", [2, 3, 8])
def test_tokens_stay_on_the_sphere(d):
    run = follow(random_model(d, 9.0, seed=d), pk.sphere.uniform(40, d, seed=4), t_end=20.0)
    between = run.at(np.linspace(0, 20, 301))
    for x in (run.tokens, between):
        assert np.abs(np.linalg.norm(x, axis=-1) - 1).max() <= 1e-14


@pytest.mark.parametrize("mask", ["causal", "full"])
@pytest.mark.parametrize("d", [2, 3, 8])
def test_rotations_commute_with_the_flow(d, mask):
    model, x0 = random_model(d, 5.0, d, mask), pk.sphere.uniform(30, d, seed=5)
    R = random_rotation(d, seed=6)
    turned = pk.Attention(
        beta=5.0, Q=R @ model.Q @ R.T, K=R @ model.K @ R.T, V=R @ model.V @ R.T, mask=mask
    )
    assert worst(follow(turned, x0 @ R.T).final, follow(model, x0).final @ R.T) <= 10 * TOL


@pytest.mark.parametrize("d", [2, 3, 8])
def test_later_tokens_never_move_earlier_ones(d):
    model, x0 = random_model(d, 5.0, seed=d), pk.sphere.uniform(40, d, seed=7)
    whole, cut = follow(model, x0), follow(model, x0[:13])
    assert worst(whole.final[:13], cut.final) <= 10 * TOL


def test_full_attention_lets_later_tokens_pull():
    model, x0 = random_model(3, 5.0, seed=3, mask="full"), pk.sphere.uniform(40, 3, seed=7)
    assert worst(follow(model, x0).final[:13], follow(model, x0[:13]).final) > 1e-3


@pytest.mark.parametrize("mask", ["causal", "full"])
def test_scaling_v_is_a_change_of_time(mask):
    model, x0, c = random_model(3, 5.0, 8, mask), pk.sphere.uniform(30, 3, seed=8), 2.5
    faster = pk.Attention(beta=5.0, Q=model.Q, K=model.K, V=c * model.V, mask=mask)
    slow, fast = follow(model, x0, t_end=4.0), follow(faster, x0, t_end=4.0 / c)
    for t in (0.5, 2.2, 4.0):
        assert worst(fast.at(t / c), slow.at(t)) <= 10 * TOL


def test_scaling_q_is_a_change_of_beta():
    model, x0 = random_model(3, 5.0, seed=8), pk.sphere.uniform(30, 3, seed=8)
    hotter = pk.Attention(beta=2.5, Q=2 * model.Q, K=model.K, V=model.V)
    assert worst(follow(hotter, x0).final, follow(model, x0).final) <= 10 * TOL


def test_full_attention_does_not_know_the_order_of_tokens():
    model, x0 = random_model(3, 5.0, seed=9, mask="full"), pk.sphere.uniform(30, 3, seed=9)
    order = np.random.default_rng(9).permutation(30)
    assert worst(follow(model, x0[order]).final, follow(model, x0).final[order]) <= 10 * TOL


@pytest.mark.parametrize("d", [3, 8])
def test_weight_of_a_frozen_token_counts_its_copies(d):
    model, x0 = random_model(d, 5.0, seed=d), pk.sphere.uniform(20, d, seed=10)
    frozen = pk.sphere.uniform(2, d, seed=11)
    weighted = follow(model, x0, frozen=frozen, frozen_weights=[3.0, 1.0])
    copies = follow(model, x0, frozen=frozen[[0, 0, 0, 1]])
    assert worst(weighted.final, copies.final) <= 10 * TOL
    assert worst(weighted.final, follow(model, x0).final) > 1e-3


def test_a_resting_first_token_is_a_frozen_token():
    # V = I: the first token never moves, so it may as well be frozen.
    model, x0 = pk.Attention(3, 5.0), pk.sphere.uniform(20, 3, seed=12)
    whole, rest = follow(model, x0), follow(model, x0[1:], frozen=x0[:1])
    assert np.array_equal(whole.final[0], x0[0])
    assert worst(whole.final[1:], rest.final) <= 10 * TOL


@pytest.mark.parametrize("mask", ["causal", "full"])
def test_without_scores_everyone_follows_the_mean(mask):
    # β = 0 forgets Q and K; one frozen token of enormous weight then is the mean, and V = I
    # gives φ̇ = −sin φ for the angle to it: tan(φ/2) = tan(φ₀/2) e^{−t}.
    model = pk.Attention(beta=0.0, Q=random_model(2).Q, V=np.eye(2), mask=mask)
    phi = np.linspace(-2.5, 2.5, 9)
    run = follow(
        model, pk.sphere.from_angles(phi), t_end=3.0, frozen=[[1.0, 0.0]], frozen_weights=[1e12]
    )
    expected = 2 * np.arctan(np.tan(phi / 2) * np.exp(-3.0))
    assert worst(run.final, pk.sphere.from_angles(expected)) <= 10 * TOL


def test_theorem_4_1_everyone_ends_at_the_first_token():
    x0 = pk.sphere.uniform(20, 3, seed=13)
    run = follow(pk.Attention(3, beta=1.0), x0, t_end=100.0)
    assert worst(run.final, np.repeat(x0[:1], 20, axis=0)) <= 10 * TOL
