"""Runs with β(t): against plain runs, quadrature, another solver, and smooth functions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from support.common import random_model, slope, worst
from support.transformers import TwoTokens

import parkade as pk

METHODS = pytest.mark.parametrize("method", ["explicit", "implicit"])
X0 = pk.sphere.uniform(12, 3, seed=1)
RANDOM = random_model(3, beta=1.0, seed=1)
KNOTS = pk.Schedule([0, 2, 5, 5.5], [4, 1, 9, 0])


# --- a constant β ------------------------------------------------------------------------


MODELS = [
    (pk.Attention(d=2, beta=16.0), 30, 50.0),
    (pk.Attention(d=2, beta=16.0), 30, 1e30),
    (pk.Attention(d=2, beta=9.0), 300, 1e6),  # harmonic sums
    (pk.Attention(V=[[1, -1], [1, 1]], beta=4.0), 20, 1e5),  # in a rotating frame
    (pk.Transformer([pk.Head(d=2, beta=4.0), pk.Head(V=[1, 0], beta=4.0)]), 8, 1e4),  # naive
]


@pytest.mark.parametrize(
    ("model", "n", "t_end"),
    [
        *MODELS,
        (pk.Attention(d=3, beta=9.0, mask="full"), 20, 1e4),
        (random_model(9, beta=2.0, seed=1), 20, 1e4),  # with BLAS
    ],
)
def test_one_piece_has_the_bits_of_a_plain_run(model, n, t_end):
    x0 = pk.sphere.uniform(n, model.d, seed=2)
    plain = pk.simulate(model, x0, t_end)
    run = pk.simulate(model.with_beta(1.0), x0, t_end, schedule=pk.Schedule([0], [model.beta]))
    for name in ("times", "tokens", "dense", "spin"):
        assert np.array_equal(getattr(run, name), getattr(plain, name))
    assert run.trusted_until == plain.trusted_until
    assert run.phase_known_until == plain.phase_known_until
    for name in ("method", "reason", "engine", "sums", "sums_reason", "steps", "code"):
        assert getattr(run.stats, name) == getattr(plain.stats, name)


@pytest.mark.parametrize(
    ("model", "n", "t_end"),
    [
        *MODELS,
        (pk.Attention(V=[[1, 1], [0, 1]], beta=4.0), 20, 1e8),  # defective: like 1/t
        (pk.Attention(V=[1, 1, -1], beta=9.0), 20, 1e20),
    ],
)
def test_pieces_with_the_same_beta_are_one_run(model, n, t_end):
    x0 = pk.sphere.uniform(n, model.d, seed=2)
    knots = np.append(0.0, np.geomspace(1.0, t_end / 2, 12))
    same = pk.Schedule(knots, np.full(len(knots), model.beta))
    plain = pk.simulate(model, x0, t_end)
    run = pk.simulate(model, x0, t_end, schedule=same)
    assert run.stats.method == plain.stats.method
    assert worst(run.at(knots), plain.at(knots)) < 2e-5
    assert worst(run.final, plain.final) < 1e-6
    assert set(knots) <= set(run.times)
    # A step ends at each knot, and the next one is as long as without it.
    assert run.stats.steps <= plain.stats.steps + 3 * len(knots)


# --- two tokens: a closed form -----------------------------------------------------------


def test_the_closed_form_is_the_velocity():
    for phi, beta in ((0.3, 2.0), (2.8, 9.0)):
        weight = TwoTokens("post", beta, phi).weight(phi)
        v = pk.Attention(d=2, beta=beta).velocity(pk.sphere.from_angles([0.0, phi]))[1]
        speed = v @ [-math.sin(phi), math.cos(phi)]
        assert speed == pytest.approx(-weight * math.sin(phi))


@pytest.mark.parametrize(
    ("method", "times"),
    [
        ("explicit", [0.0, 3.0, 50.0, 400.0]),
        ("implicit", [0.0, 3.0, 50.0, 400.0]),
        ("implicit", [0.0, 1e5, 1e10, 1e20, 1e40, 1e60]),
    ],
)
def test_two_tokens_pass_given_angles_at_the_knots(method, times):
    """With β chosen by quadrature for each piece, over sixty decades.

    The larger β, the smaller the angles, or else the last moments would decide everything.
    """
    angles = 3.0 - np.cumsum([0.0, 0.25, 0.1, 0.05, 0.03, 0.02])[: len(times)]

    def too_long(beta, start, end, duration):
        return math.log(TwoTokens("post", beta, start).time(end) / duration)

    pieces = zip(angles, angles[1:], np.diff(times), strict=False)
    beta = [brentq(too_long, 0, 150, args=piece) for piece in pieces]
    run = pk.simulate(
        pk.Attention(d=2),
        pk.sphere.from_angles([0.0, angles[0]]),
        times[-1],
        schedule=pk.Schedule(times[:-1], beta),
        method=method,
        tol=1e-10,
    )
    assert np.abs(pk.sphere.angles(run.at(times))[:, 1] - angles).max() < 1e-8
    assert not run.tokens[:, 0].std(axis=0).any()


# --- another solver ----------------------------------------------------------------------


def independent(schedule, model, x0, times):
    """SciPy's DOP853 with β switched at the knots, for the naive velocity."""
    states, x = [], x0
    stops = sorted({*times, *schedule.times, 0.0})
    for start, end in zip(stops, [*stops[1:], None], strict=True):
        if start in times:
            states.append(x)
        if end is not None and start < max(times):
            now = model.with_beta(schedule(start))

            def slope(t, y, now=now):
                return now.velocity(y.reshape(x0.shape)).ravel()

            solved = solve_ivp(slope, (start, end), x.ravel(), "DOP853", rtol=1e-12, atol=1e-12)
            x = pk.sphere.normalize(solved.y[:, -1].reshape(x0.shape))
    return np.array(states)


@METHODS
@pytest.mark.parametrize("mask", ["causal", "full"])
def test_agrees_with_dop853(method, mask):
    """At knots, right before and after them, and in the middle of pieces."""
    model = random_model(3, beta=1.0, seed=1, mask=mask)
    times = [0.0, 1.0, 2 - 1e-9, 2.0, 2 + 1e-9, 4.0, 5.0, 5.2, 5.5, 7.0]
    expected = independent(KNOTS, model, X0, times)
    run = pk.simulate(model, X0, 7.0, schedule=KNOTS, method=method, tol=1e-10)
    assert worst(run.at(times), expected) < 2e-8
    saved = pk.simulate(model, X0, 7.0, schedule=KNOTS, method=method, tol=1e-10, times=times)
    assert np.array_equal(saved.times, times)
    assert worst(saved.tokens, run.at(times)) < 1e-14


@pytest.mark.parametrize(("method", "order"), [("explicit", 5), ("implicit", 4)])
def test_order(method, order):
    """Knots do not lower the order of a method. Measured: 5.2 and 4.1."""
    schedule, times = pk.Schedule([0, 2, 5], [4, 1, 9]), [1.0, 2.0, 3.5, 5.0, 6.0, 8.0]
    exact = independent(schedule, RANDOM, X0, times)
    runs = [
        pk.simulate(RANDOM, X0, 8.0, schedule=schedule, method=method, tol=10.0**-k)
        for k in range(7, 12)
    ]
    errors = [worst(run.at(times), exact) for run in runs]
    assert slope([1 / run.stats.steps for run in runs], errors) == pytest.approx(order, abs=0.5)


@pytest.fixture(scope="module")
def growing():
    """β(t) = 1.5 ln(1 + t), a model and a start, and the end by `Flow`, which takes β as it is."""
    model, x0 = pk.Attention(d=2), pk.sphere.uniform(8, 2, seed=3)

    def beta(t):
        return 1.5 * math.log1p(t)

    flow = pk.Flow(lambda t, x: model.with_beta(beta(t)).velocity(x), 2, causal=True, sharpness=5)
    exact = pk.simulate(flow, x0, 30.0, tol=1e-10, method="explicit", times="final").final
    return beta, model, x0, exact


@METHODS
def test_a_sampled_function_has_second_order(growing, method):
    """Pieces in place of a function."""
    beta, model, x0, exact = growing
    each = [10, 20, 40, 80]
    errors = [
        worst(pk.simulate(model, x0, 30.0, schedule=sampled, tol=1e-8, method=method).final, exact)
        for sampled in (pk.Schedule.of(beta, 30.0, count) for count in each)
    ]
    assert slope(1 / np.array(each), errors) == pytest.approx(2, abs=0.1)
    assert errors[-1] < 1e-3


# --- physics -----------------------------------------------------------------------------


@METHODS
def test_later_tokens_never_move_earlier_ones(method):
    options = {"schedule": KNOTS, "method": method, "times": [1.0, 3.0, 7.0], "tol": 1e-9}
    both = [pk.simulate(RANDOM, x, 7.0, **options).tokens for x in (X0, X0[:7])]
    assert worst(both[0][:, :7], both[1]) < 1e-7


@METHODS
def test_norms(method):
    run = pk.simulate(RANDOM, X0, 300.0, schedule=KNOTS, method=method)
    for x in (run.tokens, run.at(np.linspace(0, 300, 100))):
        assert np.abs(np.linalg.norm(x, axis=-1) - 1).max() < 1e-14


def test_a_hotter_layer_merges_what_a_colder_one_keeps_apart():
    x0 = pk.sphere.uniform(40, 2, seed=1)
    run = pk.simulate(
        pk.Attention(d=2), x0, 1e60, schedule=pk.Schedule([0, 1e20, 1e21], [400, 1, 400])
    )
    tree = run.merge_tree()
    assert tree.count(0.99e20) > 3  # they merge within a time of order one after 1e20
    assert tree.count(1e60) == 1
    assert worst(run.final, x0[:1]) < 1e-12
    assert run.trusted_until == math.inf


def test_short_pieces_at_a_late_time_keep_their_length():
    """Near t = 1e16 floats are 2 apart: a piece that lasts 6 is known to last 6."""
    x0 = pk.sphere.uniform(20, 2, seed=1)
    late = pk.Schedule([0, 1e16, 1e16 + 2, 1e16 + 8], [40, 1, 40, 0.5])
    run = pk.simulate(pk.Attention(d=2), x0, 1e16 + 10, schedule=late, tol=1e-9)
    middle = pk.simulate(pk.Attention(d=2, beta=40.0), x0, 1e16, tol=1e-9).final
    early = pk.Schedule([0, 2, 8], [1, 40, 0.5])
    rest = pk.simulate(pk.Attention(d=2), middle, 10.0, schedule=early, tol=1e-9)
    assert worst(run.final, rest.final) < 1e-7
    assert (np.diff(run.times) >= 0).all()


def test_b_log_t_over_fifty_decades_takes_few_steps():
    """Steps go on through small changes of β: they do not begin anew in each piece."""
    x0 = pk.sphere.uniform(30, 2, seed=1)
    growing = pk.Schedule.of(lambda t: 2 * math.log1p(t), 1e50, 10)
    run = pk.simulate(pk.Attention(d=2), x0, 1e50, schedule=growing)
    assert len(growing) == 500
    assert run.stats.steps < 1500
    assert run.stats.method == "implicit"
