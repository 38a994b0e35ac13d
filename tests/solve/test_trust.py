"""How far to trust a run: never farther if it is longer, and not away from unstable equilibria."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest
from support.hard import exact_first

import parkade as pk
from parkade.solve.lowering.frame import long_run_frame

TOL = 1e-6
doubtful = pytest.mark.filterwarnings("ignore::parkade.TrustWarning")


def faint_mlp():
    """An MLP that is zero up to rounding errors of other forces."""
    rng = np.random.default_rng(1)
    return pk.MLP(rng.standard_normal((8, 3)), 1e-16 * rng.standard_normal((3, 8)))


LADDERS = {
    "a faint MLP": (pk.Transformer([pk.Head(d=3, beta=16.0)], mlp=faint_mlp()), 8),
    "full attention": (pk.Attention(d=2, beta=24.0, mask="full"), 20),
}


@doubtful
@pytest.mark.parametrize("name", LADDERS)
def test_a_longer_run_never_trusts_more(name):
    model, n = LADDERS[name]
    x0 = pk.sphere.uniform(n, model.d, seed=0)
    runs = [pk.simulate(model, x0, t_end) for t_end in (1e8, 1e12, 1e16, 1e20)]
    limits = [run.trusted_until for run in runs]
    assert limits[0] == np.inf
    assert 1e8 < limits[1] < 1e10
    np.testing.assert_allclose(limits[1:], limits[1], rtol=1e-6)
    # At rest, rounding is all that moves tokens; up to there they stay where the first run ends.
    times = np.geomspace(1e8, limits[1], 5)
    for run in runs[1:]:
        assert pk.sphere.distance(run.at(times), runs[0].final).max() < 10 * TOL


def test_what_is_held_in_its_place_is_trusted():
    """A single cluster does not drift where an MLP holds it, nor where forces vanish exactly."""
    held = pk.Transformer([pk.Head(d=3, beta=4.0)], mlp=pk.MLP.random(3, seed=2))
    for model in (held, pk.Attention(d=3, beta=1.0, mask="full")):
        run = pk.simulate(model, pk.sphere.uniform(8, 3, seed=3), 1e14, times="final")
        assert np.ptp(run.final, axis=0).max() < TOL
        assert run.trusted_until == np.inf


def polygon(n):
    return pk.sphere.from_angles(2 * np.pi * np.arange(n) / n)


@pytest.mark.parametrize(("n", "t_end"), [(3, 1500.0), (4, 150.0), (5, 90.0)])
def test_polygons_are_trusted_until_rounding_breaks_their_symmetry(n, t_end):
    model, x0 = pk.Attention(d=2, beta=4.0, mask="full"), polygon(n)
    limits = []
    for method in ("explicit", "implicit"):
        with pytest.warns(pk.TrustWarning, match="rounding, not the model"):
            run = pk.simulate(model, x0, t_end, method=method)
        assert pk.sphere.distance(run.at(run.trusted_until), x0).max() < TOL
        limits.append(run.trusted_until)
    assert limits[0] == pytest.approx(limits[1])
    # A start that is off by as much as rounding may make it has left by then, and not before.
    off = pk.sphere.normalize(x0 + 1e-15 * np.random.default_rng(1).standard_normal(x0.shape))
    with pytest.warns(pk.TrustWarning):
        other = pk.simulate(model, off, t_end, method="implicit")
    gaps = [pk.sphere.distance(other.at(f * limits[0]), x0).max() for f in (1.0, 1.5)]
    assert gaps[0] < 10 * TOL < gaps[1]


@doubtful
@pytest.mark.parametrize("kind", ["naive", "pieces"])
@pytest.mark.parametrize("method", ["explicit", "implicit"])
def test_other_engines_notice_it_too(kind, method):
    model, x0 = pk.Attention(d=2, beta=4.0, mask="full"), polygon(5)
    expected = pk.simulate(model, x0, 90.0, method=method).trusted_until
    if kind == "naive":
        flow = pk.Flow(lambda t, x: model.velocity(x), 2, autonomous=True)
        run = pk.simulate(flow, x0, 90.0, method=method)
    else:
        run = pk.simulate(pk.Layers(range(0, 90, 15), [model] * 6), x0, 90.0, method=method)
    assert run.trusted_until == pytest.approx(expected, rel=1e-3)
    assert expected < 40


@pytest.mark.parametrize("method", ["explicit", "implicit"])
@pytest.mark.parametrize("seed", range(8))
def test_a_first_token_on_a_computed_eigenvector(seed, method):
    """It stays there or leaves, on this side or on that: it depends on rounding."""
    rng = np.random.default_rng(seed)
    d = 2 + seed % 2
    V = rng.standard_normal((d, d))
    V += V.T
    values, vectors = np.linalg.eigh(V)
    x0 = pk.sphere.uniform(4, d, seed=seed)
    x0[0] = vectors[:, 0]
    t_end = 60 / (values[-1] - values[0])
    with pytest.warns(pk.TrustWarning):
        run = pk.simulate(pk.Attention(V=V, beta=2.0), x0, t_end, method=method)
    for t in (0.5 * run.trusted_until, run.trusted_until):
        expected = exact_first(V, x0[0], t)
        assert pk.sphere.distance(run.at(t)[0], expected) < 10 * TOL


def test_a_saddle_on_the_way_ends_the_trust():
    """A token in a plane, up to rounding, comes to rest on an axis of it, and then leaves."""
    basis = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3))).Q
    V = basis @ np.diag([1.0, 0.5, -1.0]) @ basis.T
    x0 = pk.sphere.normalize(basis[:, 1:] @ [0.6, 0.8])[None]
    with pytest.warns(pk.TrustWarning):
        run = pk.simulate(pk.Attention(V=V), x0, 150.0, method="implicit")
    leading = run.tokens[:, 0] @ basis[:, 0]
    assert np.abs(leading[-1]) > 0.99
    assert np.abs(leading[run.times <= run.trusted_until]).max() < 0.05


SYMMETRIC = {"a rectangle": (2, 0.7), "three pairs": (3, 0.3)}


@doubtful
@pytest.mark.parametrize("method", ["explicit", "implicit"])
@pytest.mark.parametrize("name", SYMMETRIC)
def test_symmetric_starts_are_trusted_until_rounding_breaks_their_symmetry(name, method):
    """Pairs meet, and are then a polygon of clusters, which is unstable."""
    n, angle = SYMMETRIC[name]
    corners = 2 * np.pi * np.arange(n) / n
    x0 = pk.sphere.from_angles(np.concatenate([corners + angle, corners - angle]))
    model = pk.Attention(d=2, beta=1.0, mask="full")
    limits = [pk.simulate(model, x0, t, method=method).trusted_until for t in (150.0, 200.0)]
    assert limits[0] == pytest.approx(limits[1])
    # How much a small change of the start has grown by then: rounding errors, to about tol.
    change = 1e-12
    off = pk.sphere.normalize(x0 + change * np.random.default_rng(1).standard_normal(x0.shape))
    runs = [pk.simulate(model, start, 200.0, method=method, tol=1e-10) for start in (x0, off)]
    gaps = [pk.sphere.distance(*(run.at(f * limits[0]) for run in runs)).max() for f in (0.7, 1.0)]
    assert gaps[0] < TOL / 1e-15 * change
    assert gaps[1] > 0.01 * TOL / 1e-15 * change


@doubtful
@pytest.mark.parametrize("mask", ["causal", "full"])
@pytest.mark.parametrize("method", ["explicit", "implicit"])
def test_tokens_in_an_invariant_plane_are_trusted_until_they_leave_it(mask, method):
    basis = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3))).Q
    model = pk.Attention(V=basis @ np.diag([2.0, 1.5, 1.0]) @ basis.T, beta=1.0, mask=mask)
    x0 = pk.sphere.normalize(pk.sphere.uniform(6, 2, seed=1) @ basis[:, 1:].T)
    run = pk.simulate(model, x0, 150.0, method=method)
    leading = np.abs(run.tokens @ basis[:, 0])
    assert leading[-1].max() > 0.99
    assert leading[run.times <= run.trusted_until].max() < 10 * TOL


@doubtful
@pytest.mark.parametrize("method", ["explicit", "implicit"])
@pytest.mark.parametrize(
    ("norm", "least"), [("ngpt", 0.03), ("peri", 0.03), ("pre", -0.05), (pk.Mix(3.0), -0.05)]
)
@pytest.mark.parametrize("seed", [1, 8])
def test_a_token_on_an_eigenvector_under_other_norms(seed, norm, least, method):
    """It leaves as rounding leads it, faster as it becomes shorter."""
    basis = np.linalg.qr(np.random.default_rng(seed).standard_normal((2, 2))).Q
    model = pk.Transformer([pk.Head(V=basis @ np.diag([least, 1.0]) @ basis.T)], norm=norm)
    x0 = basis[:, :1].T
    run = pk.simulate(model, x0, 18.0, method=method)
    assert run.trusted_until < 16.0
    # A start that is off by as much as rounding may make it has not left by about then.
    for sign in (-1, 1):
        off = pk.sphere.normalize(x0 + sign * 1e-15 * basis[:, 1])
        other = pk.simulate(model, off, 18.0, method="implicit", tol=1e-10)
        assert pk.sphere.distance(other.at(0.7 * run.trusted_until), x0).max() < 10 * TOL


@pytest.mark.parametrize(("size", "seed"), [(3, 1), (4, 3), (5, 1)])
def test_jordan_blocks_are_trusted_until_rounding_has_split_them(size, seed):
    basis = np.linalg.qr(np.random.default_rng(seed).standard_normal((size, size))).Q
    V = basis @ (np.eye(size) + np.diag(np.ones(size - 1), 1)) @ basis.T
    x0 = pk.sphere.uniform(1, size, seed=1)
    with pytest.warns(pk.TrustWarning):
        run = pk.simulate(pk.Attention(V=V), x0, 1e4, method="implicit")
    t = run.trusted_until
    assert t > 10.0
    assert pk.sphere.distance(run.at(t)[0], exact_first(V, x0[0], t)) < 10 * TOL


@pytest.mark.parametrize(("coupling", "trusted"), [(1e-9, np.inf), (1e-12, 1e6), (1e-13, 1e7)])
def test_a_weak_coupling_that_counts_as_zero_ends_the_trust(coupling, trusted):
    turn = pk.sphere.from_angles([0.7, 0.7 + np.pi / 2]).T
    model = pk.Attention(V=turn @ [[1.0, coupling], [0.0, 1.0]] @ turn.T)
    context = nullcontext() if trusted == np.inf else pytest.warns(pk.TrustWarning)
    with context:
        run = pk.simulate(model, pk.sphere.from_angles([2.5]), 1e8, method="implicit")
    assert run.trusted_until == pytest.approx(trusted, rel=1e-2)


@pytest.mark.parametrize("kind", ["random", "symmetric", "repeated"])
def test_other_matrices_are_known_for_ever(kind):
    for seed in range(20):
        V = np.random.default_rng(seed).standard_normal((5, 5))
        if kind == "symmetric":
            V = V + V.T
        if kind == "repeated":
            V = np.linalg.solve(V, np.diag([1.0, 1.0, 0.3, 0.3, -1.0]) @ V)
        assert long_run_frame(pk.Head(V=V)).known_until(TOL) == np.inf


def test_symmetric_starts_of_stable_motion_are_trusted():
    angles = np.array([0.5, 1.2, 2.0, 2.6])
    x0 = pk.sphere.from_angles(np.concatenate([angles, -angles]))
    for t_end in (60.0, 1e6):
        run = pk.simulate(pk.Attention(d=2, beta=4.0, mask="full"), x0, t_end)
        assert run.trusted_until == np.inf


@pytest.mark.parametrize("method", ["explicit", "implicit"])
def test_exact_equilibria_are_trusted(method):
    """Nothing is rounded on coordinate axes: tokens stay for ever, as they should."""
    cases = [
        (pk.Attention(V=[1.0, 0.5, -1.0], beta=2.0), [[0, 1, 0], [0, -1, 0]]),
        (pk.Attention(d=2, beta=1.0), [[1, 0], [-1, 0]]),
        (pk.Attention(d=2, beta=1.0, mask="full"), [[1, 0], [0, 1], [-1, 0], [0, -1]]),
    ]
    for model, tokens in cases:
        run = pk.simulate(model, np.array(tokens, dtype=float), 300.0, method=method)
        assert run.trusted_until == np.inf
        np.testing.assert_array_equal(run.final, tokens)
