"""Hard cases: forces that cancel, powers of time, thin forces, small and large V."""

from __future__ import annotations

import numpy as np
import pytest
from support.hard import exact_first

import parkade as pk
from parkade.engine.flow.velocity import velocity
from parkade.runs.rotation import phase_known_until, turn
from parkade.solve.lowering.frame import long_run_frame
from parkade.solve.lowering.lower import prepare

SKEW = np.array([[0, -0.3, 0.5], [0.3, 0, -0.7], [-0.5, 0.7, 0]])
TURNING = pk.Attention(V=np.eye(3) + SKEW, beta=1.0)

doubtful = pytest.mark.filterwarnings("ignore::parkade.TrustWarning")


def off_sphere(tokens):
    return np.abs(np.linalg.norm(tokens, axis=-1) - 1).max()


# --- rotations ---------------------------------------------------------------------------


@doubtful
@pytest.mark.parametrize("t", [1e2, 1e10, 1e14, 1e16, 1e60, 1e200])
def test_turning_tokens_stay_on_the_sphere(t):
    run = pk.simulate(TURNING, pk.sphere.uniform(4, 3, seed=1), t)
    assert off_sphere(run.tokens) < 1e-14
    assert off_sphere(run.at(np.geomspace(1e-3 * t, t, 50))) < 1e-14


@pytest.mark.parametrize("d", [2, 3, 4, 5, 6, 7])
def test_a_rotation_keeps_lengths_and_angles(d):
    rng = np.random.default_rng(d)
    spin = rng.standard_normal((d, d))
    spin -= spin.T
    x = rng.standard_normal((6, 3, d))
    turned = turn(spin, np.array([0.0, 1.0, 1e5, 1e12, 1e20, 1e300]), x)
    products, before = turned @ turned.swapaxes(1, 2), x @ x.swapaxes(1, 2)
    np.testing.assert_allclose(products, before, atol=1e-12)
    np.testing.assert_array_equal(turned[0], x[0])


def test_the_phase_of_a_rotation_is_known_for_a_while():
    x0 = pk.sphere.uniform(4, 3, seed=1)
    assert pk.simulate(TURNING, x0, 1e6).phase_known_until > 1e9
    with pytest.warns(pk.TrustWarning, match="place on their orbit"):
        run = pk.simulate(TURNING, x0, 1e12)
    assert run.trusted_until == np.inf  # the shape is right
    assert 1e9 < run.phase_known_until < 1e11
    assert run.to_xarray().attrs["phase_known_until"] == run.phase_known_until
    assert pk.simulate(pk.Attention(d=3), x0, 1e12).phase_known_until == np.inf
    # A rate that differs by one rounding rotates tokens by tol in that time.
    limit = phase_known_until(SKEW, None, 1e-6)
    rate = np.linalg.norm(SKEW, 2)
    assert limit * (np.nextafter(rate, 1) - rate) == pytest.approx(1e-6, rel=1)


def test_a_slow_rotation_is_rounded_as_a_fast_one():
    """Its rate is an eigenvalue of V, which is known up to a rounding error of V."""
    x0 = pk.sphere.uniform(4, 3, seed=1)
    run = pk.simulate(pk.Attention(V=np.eye(3) + 1e-3 * SKEW, beta=1.0), x0, 1e5)
    assert run.spin.any()
    assert run.phase_known_until == pytest.approx(1e-6 / np.finfo(float).eps, rel=1e-3)


# --- forces that cancel ------------------------------------------------------------------

REPULSIVE = {
    "circle": (pk.Attention(d=2, beta=0.0, V=-1.0), 10),
    "full": (pk.Attention(d=2, beta=1.0, V=-1.0, mask="full"), 10),
    "sphere": (pk.Attention(d=3, beta=1.0, V=-1.0), 10),
    "line": (pk.Attention(V=[-1, -2, -2], beta=9.0), 10),
}


@doubtful
@pytest.mark.parametrize("name", REPULSIVE)
def test_rounding_does_not_move_tokens_at_rest(name):
    model, n = REPULSIVE[name]
    x0 = pk.sphere.uniform(n, model.d, seed=1)
    rested = pk.simulate(model, x0, 1e10)
    run = pk.simulate(model, x0, 1e100)
    assert run.stats.steps < 3000
    assert pk.sphere.distance(run.final, rested.final).max() < 1e-9
    if name == "line":  # every token is held in its place, though weakly
        assert run.trusted_until == np.inf
        return
    # trusted_until accounts for forces below rounding.
    assert 1e6 < run.trusted_until < 1e10
    limit = run.trusted_until / 10
    assert pk.simulate(model, x0, limit).trusted_until == np.inf


def test_no_force_is_taken_for_rounding_where_scores_are_huge():
    """A single token has no scores, even if β is large: only V moves it."""
    V = np.diag(np.ones(4), 1)
    x0 = pk.sphere.normalize(np.array([[-1e-8, -1e-8, -2e-8, -1.0, -1e-9]]))
    model = pk.Attention(V=V, beta=1e4, K=1e10)
    for method in ("explicit", "implicit"):
        run = pk.simulate(model, x0, 40.0, method=method)
        assert pk.sphere.distance(run.final[0], exact_first(V, x0[0], 40.0)) < 1e-5


def test_tokens_held_in_their_place_are_always_trusted():
    """With β > 0 on the circle each token has one place where forces balance, and is held there."""
    x0 = pk.sphere.uniform(10, 2, seed=1)
    run = pk.simulate(pk.Attention(d=2, beta=1.0, V=-1.0), x0, 1e100)
    assert run.trusted_until == np.inf


@pytest.mark.parametrize("beta", [0.0, 1.0, 9.0, 64.0, 256.0])
@pytest.mark.parametrize("d", [2, 3, 8])
def test_the_rounding_error_of_a_force_is_known(d, beta):
    """Against sums in extended precision, relative to the terms of the sum."""
    model = pk.Attention(d=d, V=-1.0, beta=beta)
    system = prepare(model, frame=long_run_frame(model))
    worst = 0.0
    for seed in range(3):
        x = pk.sphere.uniform(60, d, seed=seed)
        velocities = velocity(system, x)
        for k in range(1, len(x)):
            own, gaps = x[k].astype(np.longdouble), x[:k].astype(np.longdouble) - x[k]
            weights = np.exp(beta * gaps @ own)
            shares = weights / (1 + weights.sum())
            force = (shares @ gaps) @ own * own - shares @ gaps
            terms = 2 * np.sqrt(d) * shares.sum()
            worst = max(worst, np.linalg.norm((velocities[k] - force).astype(float)) / terms)
    assert worst < system.floor / 2


@doubtful
def test_forces_that_cancel_are_summed_directly():
    model, x0 = pk.Attention(d=2, beta=1.0, V=-1.0), pk.sphere.uniform(150, 2, seed=1)
    run = pk.simulate(model, x0, 1e4, max_steps=10, partial=True)
    assert run.stats.sums == "direct"
    assert "cancel" in run.stats.sums_reason
    asked = pk.simulate(model, x0, 1e4, max_steps=10, partial=True, sums="harmonic")
    assert asked.stats.sums == "harmonic"


# --- powers of time ----------------------------------------------------------------------


@doubtful
@pytest.mark.parametrize("leading", [0.0, 1.0])
@pytest.mark.parametrize(("size", "d"), [(2, 2), (3, 3), (4, 5)])
@pytest.mark.parametrize("t", [1e6, 1e12, 1e30])
def test_a_jordan_block_takes_the_first_token_to_its_end_and_not_beyond(leading, size, d, t):
    V = leading * np.eye(d) + np.diag((np.arange(1, d) < size) * 1.0, 1)
    assert long_run_frame(pk.Attention(V=V)).drifts
    for seed in (1, 2):
        x0 = pk.sphere.uniform(6, d, seed=seed)
        run = pk.simulate(pk.Attention(V=V, beta=1.0), x0, t, times="final")
        expected = exact_first(V, x0[0], t)
        assert pk.sphere.distance(run.final[0], expected) < 1e-7
        if leading:  # the distance to the end itself is right, not only small
            assert run.final[0, 1] == pytest.approx(expected[1], rel=1e-5)
        assert run.stats.steps < 5000


def test_only_defective_matrices_drift():
    rng = np.random.default_rng(3)
    basis, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    nearly = np.array([[1.0, 1.0], [0.0, 1.0 - 1e-8]])
    assert long_run_frame(pk.Attention(V=nearly)).drifts
    for V in (np.eye(3), np.diag([1.0, 1.0, -1.0]), basis @ np.diag([1, 1, 0.5]) @ basis.T):
        assert not long_run_frame(pk.Attention(V=V)).drifts
    assert not long_run_frame(pk.Attention(V=[[1, 1], [0, 0.5]])).drifts
    # A Jordan block below the leading eigenvalue decays faster than any power.
    assert not long_run_frame(pk.Attention(V=[[1, 0, 0], [0, 0.2, 1], [0, 0, 0.2]])).drifts


# --- forces that change within a tiny arc ------------------------------------------------

AXES = np.eye(3)[[1, 0, 2, 0, 0, 2, 1, 1, 0, 0, 0, 2, 2, 2]]
SIGNS = np.array([1, -1, 1, 1, 1, 1, 1, -1, 1, -1, 1, -1, -1, -1.0])
THIN = pk.Attention(
    beta=64.0,
    V=0.001,
    Q=[[0, -1.5, 1.95], [0, 0, -1.04], [0, 0, 0]],
    K=1e8 * np.array([[0.70, -1.01, 0.41], [-1.01, 0.36, 0.85], [0.41, 0.85, 1.01]]),
)


@pytest.mark.parametrize("size", [1.0, 1e-4, 1e4])
@pytest.mark.parametrize("tol", [1e-6, 1e-8])
def test_a_first_step_does_not_jump_over_a_tie(tol, size):
    x0 = AXES * SIGNS[:, None]
    model = pk.Attention(beta=64.0, V=0.001, Q=THIN.Q, K=size * THIN.K)
    explicit = pk.simulate(model, x0, 17.6, tol=tol, method="explicit")
    implicit = pk.simulate(model, x0, 17.6, tol=tol, method="implicit")
    auto = pk.simulate(model, x0, 17.6, tol=tol)
    assert pk.sphere.distance(explicit.final, implicit.final).max() < 100 * tol
    assert pk.sphere.distance(auto.final, implicit.final).max() < 100 * tol


# --- other units of time -----------------------------------------------------------------


@pytest.mark.parametrize("exponent", [-150, -60, 60, 150])
@pytest.mark.parametrize("method", ["explicit", "implicit"])
def test_the_size_of_V_is_a_unit_of_time(exponent, method):  # noqa: N802  V is the paper's
    rng = np.random.default_rng(5)
    V, x0 = rng.standard_normal((3, 3)), pk.sphere.uniform(8, 3, seed=2)
    unit = 2.0**exponent
    model, same = pk.Attention(V=V, beta=3.0), pk.Attention(V=unit * V, beta=3.0)
    run = pk.simulate(model, x0, 20.0, method=method)
    other = pk.simulate(same, x0, 20.0 / unit, method=method)
    assert other.times[-1] == 20.0 / unit
    assert pk.sphere.distance(run.final, other.final).max() < 1e-5
    middle = pk.sphere.distance(run.at(3.0), other.at(3.0 / unit)).max()
    assert middle < 1e-5
    assert other.stats.steps == pytest.approx(run.stats.steps, abs=50)


@doubtful
def test_a_turning_frame_turns_in_any_unit_of_time():
    unit = 2.0**-150
    x0 = pk.sphere.uniform(4, 3, seed=1)
    run = pk.simulate(TURNING, x0, 1e4, method="implicit")
    other = pk.simulate(pk.Attention(V=unit * TURNING.V, beta=1.0), x0, 1e4 / unit)
    assert other.phase_known_until == pytest.approx(run.phase_known_until / unit)
    assert pk.sphere.distance(run.final, other.final).max() < 1e-5


# --- rest under full attention ---------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("seed", range(4))
def test_a_few_tokens_at_rest_stay_there(n, seed):
    """Rounding leaves nothing of the diagonal of linear systems, and a growth that there is not."""
    x0 = pk.sphere.uniform(n, 2, seed=seed)
    run = pk.simulate(pk.Attention(d=2, beta=1.0, mask="full"), x0, 1e40)
    assert run.stats.steps < 300
    assert np.ptp(run.final, axis=0).max() < 1e-12
    assert np.abs(run.final - run.at(1e6)).max() < 1e-6


@doubtful
@pytest.mark.parametrize("signs", [(1, -1), (1, 1, -1, -1)])
def test_an_exact_equilibrium_is_kept(signs):
    x0 = np.outer(signs, [1.0, 0.0])
    run = pk.simulate(pk.Attention(d=2, beta=0.0, V=-1.0, mask="full"), x0, 1e40)
    np.testing.assert_array_equal(run.final, x0)
