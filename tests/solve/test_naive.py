"""The reference integrators: their order, and agreement with the compiled engines."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.common import random_model, slope, worst
from support.drift import Drift

import parkade as pk


def as_flow(model, **options):
    """The same model as a Python function."""
    traits = {"sharpness": model.sharpness, "rate": model.rate or 1.0}
    return pk.Flow(
        lambda t, x: model.velocity(x),
        model.d,
        model.triangular,
        **traits | {"autonomous": True} | options,
    )


@pytest.mark.parametrize("method", ["explicit", "implicit"])
@pytest.mark.parametrize(
    "model",
    [
        pk.Attention(d=2, beta=9.0),
        pk.Attention(d=3, beta=4.0, mask="full"),
        pk.Attention(V=[1, 1, -1], beta=9.0),
        random_model(5, 2.0, seed=3),
    ],
    ids=lambda model: model.label,
)
def test_compiled_engines_take_the_same_steps(model, method):
    x0 = pk.sphere.uniform(4, model.d, seed=4)
    t_end = 15.0 / model.rate
    compiled = pk.simulate(model, x0, t_end, method=method)
    naive = pk.simulate(as_flow(model), x0, t_end, method=method)
    assert naive.stats.sums == "naive"
    # The first step is chosen a little differently.
    assert abs(compiled.stats.steps - naive.stats.steps) <= 2
    times = np.linspace(0, t_end, 7)
    assert worst(compiled.at(times), naive.at(times)) < 1e-5


def test_a_whole_run_is_the_same():
    model, x0 = pk.Attention(d=2, beta=9.0), pk.sphere.uniform(6, 2, seed=1)
    trees = [pk.simulate(m, x0, 1e6).merge_tree() for m in (model, as_flow(model))]
    pairs = [[(e.absorbed, e.into) for e in tree.events] for tree in trees]
    assert pairs[0] == pairs[1]
    times = [[e.time for e in tree.events] for tree in trees]
    np.testing.assert_allclose(*times, rtol=1e-3)


def turning(t, x):
    """Rotation at the rate 2t: the angle grows like t²."""
    return 2 * t * np.stack([-x[:, 1], x[:, 0]], axis=1)


@pytest.mark.parametrize("method", ["explicit", "implicit"])
def test_the_velocity_may_depend_on_time(method):
    run = pk.simulate(pk.Flow(turning, 2, causal=True), np.eye(2), 2.0, method=method, tol=1e-9)
    expected = pk.sphere.from_angles(np.array([0, math.pi / 2]) + 4.0)
    assert worst(run.final, expected) < 1e-6


def chasing(t, x):
    """Every token is attracted by a rotating point and by the token before it."""
    return 0 * x + [math.cos(3 * t), math.sin(3 * t)] + _before(x)


def _before(x):
    pull = np.zeros_like(x)
    pull[1:] = x[:-1]
    return pull


@pytest.mark.parametrize(("method", "order", "last"), [("explicit", 5, 9), ("implicit", 4, 8)])
def test_order(method, order, last):
    """The error falls like the number of steps to the minus order."""
    flow, x0 = pk.Flow(chasing, 2, causal=True), pk.sphere.uniform(3, 2, seed=1)
    exact = pk.simulate(flow, x0, 4.0, method="explicit", tol=1e-12, times="final").final
    runs = [pk.simulate(flow, x0, 4.0, method=method, tol=10.0**-k) for k in range(5, last + 1)]
    errors = [worst(run.final, exact) for run in runs]
    assert slope([1 / run.stats.steps for run in runs], errors) == pytest.approx(order, abs=0.6)


def test_a_flow_that_is_not_causal_couples_all_tokens():
    model, x0 = pk.Attention(d=2, beta=4.0, mask="full"), pk.sphere.uniform(6, 2, seed=2)
    naive = pk.simulate(as_flow(model), x0, 200.0, method="implicit")
    assert worst(naive.final, pk.simulate(model, x0, 200.0, method="explicit").final) < 1e-5
    assert pk.simulate(as_flow(model), x0, 500.0).stats.method == "explicit"


def test_frozen_tokens():
    x0, frozen = pk.sphere.uniform(6, 2, seed=1), pk.sphere.from_angles([0.0, 2.0])
    head = pk.Head(d=2, beta=9.0)
    with_part = pk.Transformer([head], parts=[Drift((0.0, 1.0), 0.0)])
    options = {"frozen": frozen, "frozen_weights": [1.0, 3.0]}
    naive = pk.simulate(with_part, x0, 20.0, **options)
    assert worst(naive.final, pk.simulate(pk.Transformer([head]), x0, 20.0, **options).final) < 1e-5
    with pytest.raises(pk.InputError, match="a Flow takes no frozen tokens"):
        pk.simulate(as_flow(pk.Transformer([head])), x0, 20.0, **options)


def test_flows_are_saved_by_name(tmp_path):
    run = pk.simulate(pk.Flow(turning, 2), np.eye(2), 1.0)
    run.save(tmp_path / "run.npz")
    back = pk.load(tmp_path / "run.npz")
    assert np.array_equal(back.at(0.4), run.at(0.4))
    assert repr(back.model) == "Flow(turning, d=2)"
    with pytest.raises(pk.InputError, match=r"the function of .* is not in the file"):
        pk.simulate(back.model, np.eye(2), 1.0)


def test_flows_are_swept(tmp_path):
    flow = pk.Flow(turning, 2)
    results = pk.ensemble(flow, n=4, runs=3, t_end=1.0, measure="final", store=tmp_path)
    assert results.final.shape == (3, 4, 2)
    nameless = pk.Flow(lambda t, x: 0 * x, 2)
    with pytest.raises(pk.InputError, match="cannot be sent to other processes"):
        pk.ensemble(nameless, n=4, runs=3, t_end=1.0, executor="processes")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, 2), "velocity must be a function of \\(t, tokens\\), got 3"),
        ((turning, 1), "d must be ≥ 2"),
    ],
)
def test_bad_flows_are_refused(arguments, message):
    with pytest.raises(pk.InputError, match=message):
        pk.Flow(*arguments)


def test_a_function_of_another_shape_is_refused():
    flow = pk.Flow(lambda t, x: x[:1], 2)
    with pytest.raises(pk.InputError, match=r"must return an array of shape \(2, 2\), got"):
        pk.simulate(flow, np.eye(2), 1.0)


def test_harmonic_sums_are_for_one_head():
    with pytest.raises(pk.InputError, match=r"harmonic sums cannot be used: .* use sums='auto'"):
        pk.simulate(pk.Flow(turning, 2), np.eye(2), 1.0, sums="harmonic")


def test_rounding_limits_the_trust():
    """The naive velocity cannot distinguish forces below 1e-16 from rounding."""
    model = pk.Attention(d=2, beta=64.0)
    x0 = pk.sphere.from_angles([0.0, 2.0, -2.2])
    with pytest.warns(pk.TrustWarning):
        run = pk.simulate(as_flow(model), x0, 1e15, max_steps=300, partial=True)
    assert run.trusted_until < 1e12
