"""The implicit engine: order, agreement, deep time, and the traps it must avoid."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm
from support.common import random_model, random_rotation, slope, worst
from support.marks import seeds
from support.steps import equal_steps
from support.transformers import TwoTokens, by_dop853

import parkade as pk
from parkade.engine.steps.implicit import IMPLICIT
from parkade.solve.lowering.lower import prepare
from parkade.solve.options import Hooks, Options
from parkade.solve.solver import Solver


@pytest.mark.parametrize("mask", ["causal", "full"])
def test_order_is_four(mask):
    model, x0 = random_model(3, seed=4, mask=mask), pk.sphere.uniform(6, 3, seed=3)
    exact = pk.simulate(model, x0, 1.0, tol=1e-13, method="explicit").final
    counts = np.array([16, 32, 64, 128])
    ends = [equal_steps(IMPLICIT, prepare(model), x0, 1.0, count).tokens[-1] for count in counts]
    errors = [worst(end, exact) for end in ends]
    assert slope(1 / counts, errors) == pytest.approx(4, abs=0.3), errors


def test_dense_output_has_order_three_or_more():
    model, x0 = pk.Attention(d=3, beta=4.0), pk.sphere.uniform(10, 3, seed=1)
    reference = pk.simulate(model, x0, 2.0, tol=1e-13, method="explicit")
    sizes, errors = np.array([0.2, 0.1, 0.05, 0.025]), []
    for h in sizes:
        step, inside = equal_steps(IMPLICIT, prepare(model), x0, h, 1), np.empty_like(x0)
        IMPLICIT.interpolate(0.4, x0, step.tokens[0], step.dense[0], inside)
        errors.append(worst(inside, reference.at(0.4 * h)))
    # One step: a continuous extension of order p has a local error of h^{p+1}.
    assert slope(sizes, errors) > 3.7, errors


@pytest.fixture(scope="module")
def dop853():
    """A model, a start, three times, and where the tokens are then."""
    model, x0 = random_model(3, seed=5), pk.sphere.uniform(24, 3, seed=6)
    times = [0.5, 3.0, 20.0]
    return model, x0, times, by_dop853(model, x0, times, 1e-12)


@pytest.mark.parametrize("tol", [1e-4, 1e-6, 1e-8])
def test_agrees_with_dop853_and_the_explicit_engine(dop853, tol):
    model, x0, times, expected = dop853
    run = pk.simulate(model, x0, 20.0, tol=tol, method="implicit")
    assert np.abs(run.at(times) - expected).max() < 10 * tol
    explicit = pk.simulate(model, x0, 20.0, tol=tol, method="explicit")
    assert np.abs(run.final - explicit.final).max() < 10 * tol


@pytest.mark.parametrize(
    "V",
    [
        np.diag([1.0, 0.5, -1.0]),
        np.array([[1.0, 5.0, 0.0], [0.0, 0.5, 3.0], [0.0, 0.0, -1.0]]),  # far from normal
        np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.3]]),  # a Jordan block
        np.array([[0.5, -2.0, 0.0], [2.0, 0.5, 0.0], [0.0, 0.0, 0.1]]),  # a complex pair
    ],
    ids=["symmetric", "non-normal", "defective", "complex"],
)
def test_first_token_has_its_closed_form(V):
    x0 = pk.sphere.uniform(1, 3, seed=2)
    run = pk.simulate(pk.Attention(V=V), x0, 10.0, tol=1e-8, method="implicit")
    for t in (0.3, 2.0, 10.0):
        y = expm(t * V) @ x0[0]
        np.testing.assert_allclose(run.at(t)[0], y / np.linalg.norm(y), atol=1e-7)


@seeds(1, 10)
def test_circle_reaches_the_first_token_by_the_same_merges(seed):
    x0, model = pk.sphere.uniform(60, 2, seed=seed), pk.Attention(d=2, beta=64.0)
    run = pk.simulate(model, x0, 1e60)
    assert run.stats.method == "implicit"
    assert run.stats.steps <= 3000
    assert np.abs(run.final - x0[0]).max() < 1e-12
    assert run.trusted_until == np.inf
    precise = pk.simulate(model, x0, 1e60, tol=1e-8)
    late, same = (
        [event for event in r.merge_tree().events if event.time > 1e3] for r in (run, precise)
    )
    assert [(e.absorbed, e.into) for e in late] == [(e.absorbed, e.into) for e in same]
    np.testing.assert_allclose([e.time for e in late], [e.time for e in same], rtol=1e-3)
    assert len(late) >= 3


def test_two_tokens_meet_when_quadrature_says():
    # At β = 100 from φ = 2 this takes 1e59.
    two, end = TwoTokens("post", 100.0, 2.0), 1.0
    t = two.time(end)
    run = pk.simulate(
        pk.Attention(d=2, beta=100.0), pk.sphere.from_angles([0.0, 2.0]), 10 * t, tol=1e-8
    )
    assert t > 1e58
    assert pk.sphere.distance(*run.at(t * 0.999)) > end
    assert pk.sphere.distance(*run.at(t * 1.001)) < end
    # Half-way in time the token has hardly left: compare the distance, which is smooth there.
    assert two.time(pk.sphere.distance(*run.at(t / 2))) == pytest.approx(t / 2, rel=1e-5)


def test_an_almost_antipodal_token_leaves_and_an_exact_one_does_not_stall():
    first = np.array([0.6, 0.8])
    near = pk.sphere.normalize(-first + np.array([1e-12, 0.0]))
    model = pk.Attention(d=2, beta=1.0)
    with pytest.warns(pk.TrustWarning):  # 1e-12 is known to four digits: so is when it leaves
        run = pk.simulate(model, [first, near], 1e60)
    assert np.abs(run.final - first).max() < 1e-12
    # Exactly on the axis, nothing pushes it to either side.
    exact = pk.simulate(model, [[1.0, 0.0], [-1.0, 0.0]], 1e60)
    np.testing.assert_array_equal(exact.final, [[1.0, 0.0], [-1.0, 0.0]])
    assert exact.stats.steps < 2000


def test_growth_from_an_unstable_equilibrium_takes_its_time():
    # φ = π − ε: ε' = c ε with c = e^{−2β}/(1 + e^{−2β}), so it reaches 0.01 at ln(0.01/ε₀)/c.
    beta, epsilon = 2.0, 1e-9
    x0 = pk.sphere.from_angles([0.0, np.pi - epsilon])
    run = pk.simulate(pk.Attention(d=2, beta=beta), x0, 1e4)
    w = np.exp(-2 * beta)
    t = np.log(0.01 / epsilon) * (1 + w) / w
    assert np.pi - pk.sphere.distance(*run.at(t)) == pytest.approx(0.01, rel=0.02)


def test_beta_300_merges_without_nan_or_stall():
    x0 = pk.sphere.uniform(50, 2, seed=1)
    run = pk.simulate(pk.Attention(d=2, beta=300.0), x0, 1e300, times="final")
    assert np.abs(run.final - x0[0]).max() < 1e-12


@seeds(3, 20)
@pytest.mark.parametrize("d", [3, 8])
def test_theorem_4_1_is_reached(d, seed):
    # Any Q, K and β: all tokens end where the first one is.
    rng = np.random.default_rng([d, seed])
    Q, K = rng.normal(size=(2, d, d))
    model = pk.Attention(beta=rng.uniform(0, 16), Q=Q, K=K)
    x0 = pk.sphere.uniform(12, d, seed=rng)
    run = pk.simulate(model, x0, 1e300, times="final")
    assert np.abs(run.final - x0[0]).max() < 1e-10


@pytest.mark.filterwarnings("ignore::parkade.TrustWarning")  # clouds, at the very end
@pytest.mark.parametrize(
    ("V", "kind"),
    [
        ([1, 1, 1], "first token"),
        ([1, 1, -1], "point of L"),
        ([1, 0.5, 0.25], "two points"),
        ([-1, -1, -2], "cloud"),
        ([-1, -2, -2], "clouds"),
    ],
)
def test_rows_of_the_table(V, kind):
    x0 = pk.sphere.uniform(32, 3, seed=5)
    model = pk.Attention(V=V, beta=9.0)
    run = pk.simulate(model, x0, 1e9)
    early = run.at(5000.0)
    assert run.trusted_until > (1e8 if kind == "clouds" else 1e9)
    if kind == "first token":
        assert len(np.unique(pk.cluster_labels(early, 0.05))) == 2  # metastable still
        np.testing.assert_allclose(run.final, np.broadcast_to(x0[0], (32, 3)), atol=1e-10)
    elif kind == "point of L":
        point = pk.sphere.normalize(x0[0] * [1, 1, 0])
        np.testing.assert_allclose(run.final, np.broadcast_to(point, (32, 3)), atol=1e-10)
    elif kind == "two points":
        np.testing.assert_allclose(np.abs(run.final), np.eye(3)[[0] * 32], atol=1e-10)
        assert set(np.sign(run.final[:, 0])) == {-1.0, 1.0}
    else:
        # Repulsion: no collapse, and a crowd about the leading eigenspace L, on average within
        # 30° of it, where uniform tokens are within 32.7° of a plane and 57.3° of a line.
        leading = 2 if kind == "cloud" else 1
        for tokens in (early, run.final):
            assert len(np.unique(pk.cluster_labels(tokens, 1e-6))) > 25
            angle = np.arccos(np.linalg.norm(tokens[:, :leading], axis=1).clip(0, 1))
            assert np.degrees(angle.mean()) < (15 if kind == "cloud" else 30)
    # At the end nothing moves, but for the clouds' last slow drift.
    assert np.abs(model.velocity(run.final)).max() < 1e-8


@seeds(2, 20)
def test_a_leading_plane_in_a_general_basis_is_followed_to_the_end(seed):
    # Along L tokens feel forces of 1e-20 and less, across it of order one: rounding must not
    # mix the two, in V's frame or in the tangent coordinates.
    rng = np.random.default_rng(seed)
    d = 3 + 2 * (seed % 2)
    basis = random_rotation(d, rng)
    spectrum = np.r_[1.0, 1.0, rng.uniform(-1, 0.9, d - 2)]
    V = basis @ np.diag(spectrum) @ basis.T
    Q, K = rng.standard_normal((2, d, d))
    x0 = pk.sphere.uniform(12, d, rng)
    run = pk.simulate(pk.Attention(V=V, beta=4.0, Q=Q, K=K), x0, 1e100, times="final")
    point = pk.theory.final_configuration(V).limit(x0[0])
    np.testing.assert_allclose(run.final, np.repeat(point, 12, axis=0), atol=1e-10)
    assert run.stats.steps < 3000


def test_full_attention_says_how_far_to_trust_it():
    x0 = pk.sphere.uniform(40, 2, seed=3)
    model = pk.Attention(d=2, beta=64.0, mask="full")
    with pytest.warns(pk.TrustWarning, match="rounding, not the model"):
        run = pk.simulate(model, x0, 1e20, times="final")
    # Rounding of 1e-16 per unit time moves a token by tol = 1e-6 after about 1e10 to 1e14.
    assert 1e8 < run.trusted_until < 1e15
    short = pk.simulate(model, x0, 100.0, times="final")
    assert short.trusted_until == np.inf
    consensus = pk.simulate(pk.Attention(d=2, beta=1.0, mask="full"), x0, 1e20, times="final")
    assert consensus.trusted_until == np.inf
    assert len(np.unique(pk.cluster_labels(consensus.final, 1e-6))) == 1


def test_frozen_tokens_hold_their_captives_for_ever():
    frozen = pk.sphere.from_angles([0.0, 2.0, 4.0])
    x0 = pk.sphere.uniform(30, 2, seed=1)
    model = pk.Attention(d=2, beta=40.0)
    run = pk.simulate(model, x0, 1e40, frozen=frozen, frozen_weights=[1.0, 2.0, 3.0])
    gaps = pk.sphere.distance(run.final[:, None], frozen[None]).min(axis=1)
    assert gaps.max() < 1e-6
    assert np.abs(model.velocity(run.final, frozen, [1.0, 2.0, 3.0])).max() < 1e-14


def test_progress_counts_decades():
    reports = []
    x0 = pk.sphere.uniform(60, 2, seed=1)
    solver = Solver(pk.Attention(d=2, beta=64.0), Options(1e60, "final"))
    solver.run(x0, Hooks(reports.append))
    # In linear time nothing would seem to happen before the very end.
    assert reports[-1] == 1.0
    assert any(0.1 < fraction < 0.9 for fraction in reports)


def test_too_many_tokens_for_memory(little_memory):
    x0 = np.tile(np.eye(2), (500, 1))
    with pytest.raises(pk.InputError, match="method='explicit'"):
        pk.simulate(pk.Attention(d=2), x0, 1e4, method="implicit", sums="direct")
