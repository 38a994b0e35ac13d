"""Runs of transformers: every normalisation, explicit, implicit, naive, and independent solvers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.common import slope, worst
from support.drift import Drift
from support.steps import equal_steps, implicit_step
from support.transformers import (
    NORMS,
    TwoTokens,
    by_dop853,
    random_state,
    random_transformer,
)

import parkade as pk
from parkade.base.errors import InputError, StuckError

X0 = pk.sphere.uniform(12, 3, seed=1)


@pytest.mark.parametrize("method", ["explicit", "implicit"])
@pytest.mark.parametrize("norm", NORMS)
def test_two_tokens_by_quadrature(norm, method):
    two = TwoTokens(norm, beta=4.0, start=2.0, alpha=0.7 if norm == "ngpt" else 1.0)
    chosen = pk.NGPT(alpha=0.7) if norm == "ngpt" else norm
    model = pk.Transformer([pk.Head(d=2, beta=4.0)], norm=chosen)
    x0 = pk.sphere.from_angles([0.0, 2.0])
    for angle in (1.9, 1.0, 0.1):
        run = pk.simulate(model, x0, two.time(angle), method=method, tol=1e-9)
        assert pk.sphere.angles(run.final)[1] == pytest.approx(angle, rel=1e-6)
        if run.radii is not None:
            assert np.log(run.radii[-1, 1]) == pytest.approx(two.log_radius(angle), rel=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_all_solvers_agree(seed):
    model = random_transformer(seed, masks=("causal", "window(4)", "prefix(3)"))
    state = random_state(model, 6, seed)
    radii = np.exp(state[:, model.d]) if model.radii else None
    t_end = 4.0 / model.rate
    exact = by_dop853(model, state, [t_end])[0]
    methods = ("explicit", "implicit") if model.triangular else ("explicit",)
    for method in methods:
        run = pk.simulate(model, state[:, : model.d], t_end, radii=radii, method=method, tol=1e-9)
        assert run.stats.sums == "direct"
        assert worst(run.final, exact[:, : model.d]) < 1e-6
        if model.radii:
            np.testing.assert_allclose(run.radii[-1], np.exp(exact[:, model.d]), rtol=1e-6)


@pytest.mark.parametrize("method", ["explicit", "implicit"])
def test_kernels_take_the_steps_of_the_naive_integrators(method):
    """A part without a kernel sends the same model to the naive integrators."""
    heads = [pk.Head(d=3, beta=4.0), pk.Head.random(3, 2, seed=1, beta=2.0)]
    options = {"norm": "peri", "mlp": pk.MLP.random(3, seed=2, activation="silu")}
    fast, slow = (
        pk.Transformer(heads, parts=parts, **options)
        for parts in ([], [Drift((0.0, 0.0, 1.0), 0.0)])
    )
    runs = [pk.simulate(model, X0, 5.0, method=method) for model in (fast, slow)]
    assert [run.stats.sums for run in runs] == ["direct", "naive"]
    assert abs(runs[0].stats.steps - runs[1].stats.steps) <= 2
    times = np.linspace(0, 5, 6)
    assert worst(runs[0].at(times), runs[1].at(times)) < 1e-5
    np.testing.assert_allclose(*(run.radii_at(times) for run in runs), rtol=1e-5)


@pytest.mark.parametrize(("method", "order"), [("explicit", 5), ("implicit", 4)])
@pytest.mark.parametrize("norm", ["peri", "sqrt"])
def test_order(norm, method, order):
    """With steps of equal size; √(t + 1) makes the flow depend on time."""
    from parkade.engine.steps.methods import METHODS
    from parkade.solve.lowering.frame import transformer_frame
    from parkade.solve.lowering.lower import prepare_field

    model = pk.Transformer(
        [pk.Head(d=3, beta=3.0), pk.Head.random(3, seed=4)],
        mlp=pk.MLP.random(3, seed=5, activation="gelu"),
        norm=norm,
    )
    state = random_state(model, 5, 6)
    (exact,) = by_dop853(model, state, [1.0], 1e-13)
    field = prepare_field(model, transformer_frame(model, long=False))
    counts = np.array([16, 32, 64])
    ends = [equal_steps(METHODS[method], field, state, 1.0, count).tokens[-1] for count in counts]
    errors = [worst(end, exact) for end in ends]
    assert slope(1 / counts, errors) == pytest.approx(order, abs=0.5)


@pytest.mark.parametrize("method", ["explicit", "implicit"])
def test_dense_output_of_lengths(method):
    model = pk.Transformer([pk.Head(d=3, beta=4.0)], norm="pre")
    run = pk.simulate(model, X0, 10.0, method=method, tol=1e-8)
    times = np.linspace(0, 10, 41)
    exact = pk.simulate(model, X0, 10.0, times=times, tol=1e-11)
    assert worst(run.at(times), exact.tokens) < 1e-6
    np.testing.assert_allclose(run.radii_at(times), exact.radii, rtol=1e-6)
    assert run.radii_at(3.3).shape == (12,)
    saved = pk.simulate(model, X0, 10.0, times=times, method=method, tol=1e-8)
    np.testing.assert_allclose(saved.radii, run.radii_at(times), rtol=1e-14)


@pytest.mark.parametrize("norm", ["pre", "peri", "ngpt", "sqrt"])
def test_deep_time(norm):
    """Clocks change when tokens merge, not which: the merges are those of post-norm, in order.

    The end is the single cluster at x_1(0), as Theorem 4.1 says of post-norm.
    """
    x0, head = pk.sphere.uniform(16, 2, seed=3), pk.Head(d=2, beta=9.0)
    post = pk.simulate(pk.Transformer([head]), x0, 1e12)
    ends = {"pre": 1e60, "peri": 1e60, "ngpt": 1e12, "sqrt": 1e24}
    run = pk.simulate(pk.Transformer([head], norm=norm), x0, ends[norm], tol=1e-7)
    assert run.stats.method == "implicit"
    assert post.merge_tree().count(1e12) == 1
    if norm in ("ngpt", "sqrt"):
        assert worst(run.final, np.broadcast_to(x0[0], run.final.shape)) < 1e-9
    if norm == "sqrt":
        # ∫ dt/√(t+1) = 2(√(t+1) − 1) is the time of post-norm.
        mine, theirs = ([e.time for e in r.merge_tree().events[-2:]] for r in (run, post))
        np.testing.assert_allclose([2 * (math.sqrt(1 + t) - 1) for t in mine], theirs, rtol=1e-3)


def test_mix_is_post_then_pre():
    tau = 3.0
    mix = pk.Transformer([pk.Head(d=3, beta=4.0)], norm=pk.Mix(tau))
    run = pk.simulate(mix, X0, 10.0, tol=1e-9)
    first = pk.simulate(mix.with_norm("post"), X0, tau, tol=1e-9)
    then = pk.simulate(mix.with_norm("pre"), first.final, 10.0 - tau, tol=1e-9)
    assert worst(run.at(tau), first.final) < 1e-7
    assert worst(run.final, then.final) < 1e-7
    np.testing.assert_allclose(run.radii[-1], then.radii[-1], rtol=1e-7)
    np.testing.assert_allclose(run.radii_at(tau), 1.0)


def test_the_rate_of_token_k_at_the_single_cluster():
    """V = I, any norm that starts at r = 1: perturbations of token k decay at 1 − 1/k at first."""
    from parkade.solve.lowering.frame import transformer_frame
    from parkade.solve.lowering.lower import prepare_field

    n = 6
    model = pk.Transformer([pk.Head(V=[1, 0, 0], beta=4.0), pk.Head(V=[0, 1, 1], beta=4.0)])
    field = prepare_field(model, transformer_frame(model, long=True))
    state = np.repeat(pk.sphere.uniform(1, 3, seed=1), n, axis=0)
    blocks = implicit_step(field, state, 1.0).lin.blocks
    for k in range(n):
        rates = np.linalg.eigvals(blocks[k]).real
        np.testing.assert_allclose(rates, -(1 - 1 / (k + 1)), atol=1e-12)


def test_windows_cut_the_sums():
    """With a window of 1 every token moves alone, by x' = P(Vx)."""
    V = [[1.0, 0.3], [0.0, 0.5]]
    model = pk.Transformer([pk.Head(V=V, beta=3.0)], mask=pk.Window(1))
    x0 = pk.sphere.uniform(5, 2, seed=2)
    run = pk.simulate(model, x0, 2.0, tol=1e-9)
    from scipy.linalg import expm

    exact = x0 @ expm(2.0 * np.array(V)).T
    assert worst(run.final, exact / np.linalg.norm(exact, axis=1, keepdims=True)) < 1e-7


@pytest.mark.parametrize("norm", ["post", "pre", "peri", "ngpt", "sqrt", pk.Mix(0.5)])
def test_layers_converge_to_the_flow(norm):
    model = pk.Transformer(
        [pk.Head(d=3, beta=2.0)], mlp=pk.MLP.random(3, seed=1, activation="silu"), norm=norm
    )
    exact = pk.simulate(model, X0, 2.0, tol=1e-10)
    errors, steps = [], np.array([0.02, 0.01, 0.005])
    for step in steps:
        path = pk.forward(model, X0, round(2.0 / step), step=step)
        errors.append(worst(path.final, exact.final))
        if model.radii:
            np.testing.assert_allclose(path.radii[-1], exact.radii[-1], rtol=3 * step)
    assert slope(steps, errors) == pytest.approx(1.0, abs=0.1)


def _with(norm):
    return pk.Transformer([pk.Head(V=[1.0, 0.5, -0.5], beta=3.0)], norm=norm)


@pytest.mark.parametrize(
    "model",
    [
        _with("mix(0.8)"),
        pk.Layers([0, 1], [_with("pre"), _with("post")]),
        pk.Layers([0, 0.5, 1], [_with("peri"), _with("ngpt"), _with("pre")]),
        pk.Layers([0, 0.5, 1], [_with("sqrt"), _with("pre"), _with("sqrt")]),
    ],
    ids=["mix", "pre-post", "peri-ngpt-pre", "sqrt-pre-sqrt"],
)
def test_layers_of_all_norms_tend_to_the_flow(model):
    """Tokens keep their lengths where a normalisation ignores them."""
    radii = np.linspace(0.5, 3.0, len(X0))
    exact = pk.simulate(model, X0, 2.0, tol=1e-9, radii=radii)
    steps, errors, ratios = np.array([0.02, 0.01, 0.005]), [], []
    for step in steps:
        path = pk.forward(model, X0, round(2.0 / step), step=step, radii=radii)
        errors.append(worst(path.final, exact.final))
        ratios.append(np.abs(path.radii[-1] / exact.radii[-1] - 1).max())
    assert slope(steps, errors) == pytest.approx(1.0, abs=0.1)
    assert slope(steps, ratios) == pytest.approx(1.0, abs=0.1)


def test_a_layer_that_fails_is_named():
    still = pk.Transformer([pk.Head(V=0.0, d=3)], norm="peri")
    layers = pk.Layers([0, 2], [_with("pre"), still])
    with pytest.raises(StuckError, match=r"token 0 feels no force in layer 2, .*peri-norm"):
        pk.forward(layers, X0, 4)
    with pytest.raises(StuckError, match="layer 0 takes token 0 to 0, where it has no dir"):
        pk.forward(pk.Transformer([pk.Head(V=-1.0, d=2)]), np.eye(2), 3)

    class Doubled(pk.Part, kind="doubled"):
        rate = 1.0

        def force(self, tokens, around):
            return 1e200 * tokens

        def data(self):
            return {}

    model = pk.Transformer([], d=3, parts=[Doubled()], norm="pre")
    with pytest.raises(StuckError, match="gives token 0 a velocity in layer 0 that is not a f"):
        pk.forward(model, X0, 3)


def test_forward_by_hand():
    model = pk.Transformer([pk.Head(d=2)], norm="pre")
    path = pk.forward(model, np.eye(2), 2, radii=2.0)
    x = 2 * np.eye(2)
    for i in range(2):
        np.testing.assert_allclose(path.tokens[i] * path.radii[i][:, None], x, atol=1e-15)
        x = x + model.force(x / np.linalg.norm(x, axis=1, keepdims=True))


@pytest.mark.parametrize("method", ["explicit", "implicit"])
def test_a_token_that_loses_its_length(method):
    """V = −I shortens the first token at the rate 1, so that r = 1 − t."""
    model = pk.Transformer([pk.Head(V=-1.0, d=2)], norm="pre")
    x0 = np.eye(2)
    run = pk.simulate(model, x0, 0.9, method=method)
    assert run.radii[-1, 0] == pytest.approx(0.1, rel=1e-4)
    with pytest.raises(pk.UnfinishedError, match="length of token 0 falls to 0 at t=1, where"):
        pk.simulate(model, x0, 2.0, method=method)
    part = pk.simulate(model, x0, 2.0, method=method, partial=True)
    assert part.times[-1] == pytest.approx(1.0, abs=0.1)
    assert "falls to 0" in part.stats.stopped


PUSHED = pk.Transformer(  # by the same force everywhere
    [], d=2, mlp=pk.MLP(np.zeros((1, 2)), [[1.0], [0.0]], b1=[1.0]), norm="pre"
)


def test_a_token_that_nearly_loses_its_length_goes_on():
    """It passes the origin at a distance of 2e-28, which only implicit steps resolve."""
    x0 = np.array([[-1.0, 2e-28]])
    with pytest.warns(pk.TrustWarning):  # of so short a token, rounding decides the direction
        run = pk.simulate(PUSHED, x0, 3.0)
    assert run.stats.method == "implicit"
    assert run.radii.min() < 1e-27
    np.testing.assert_allclose(run.final, [[1.0, 0.0]], atol=1e-6)
    assert run.radii[-1, 0] == pytest.approx(2.0, rel=1e-5)
    with pytest.raises(pk.UnfinishedError, match="use method='implicit', for shorter steps"):
        pk.simulate(PUSHED, x0, 3.0, method="explicit")


def test_the_end_of_a_length_is_seen_soon():
    """Long before it is too small for a float64."""
    with pytest.raises(pk.UnfinishedError, match="token 1 falls to 0 at t=1, where"):
        pk.simulate(PUSHED, [[1.0, 0.0], [-1.0, 0.0]], 3.0)
    run = pk.simulate(PUSHED, [[-1.0, 0.0]], 1e6, partial=True)
    assert "token 0 falls to 0 at t=1" in run.stats.stopped
    assert run.stats.steps < 2000


def test_a_token_without_a_force():
    """With V = 0."""
    model = pk.Transformer([pk.Head(V=0.0, d=2)], norm="ngpt")
    with pytest.raises(pk.UnfinishedError, match=r"token 0 feels no force at t=0, .*ngpt"):
        pk.simulate(model, np.eye(2), 1.0)


def test_bad_input():
    plain = pk.Attention(d=3)
    with pytest.raises(InputError, match=r"no lengths in .* radii must be None"):
        pk.simulate(plain, X0, 1.0, radii=2.0)
    pre = pk.Transformer([pk.Head(d=3)], norm="pre")
    with pytest.raises(InputError, match="one for each of the 12 tokens, got"):
        pk.simulate(pre, X0, 1.0, radii=[1.0, 2.0])
    with pytest.raises(InputError, match="radii must be a number > 0"):
        pk.simulate(pre, X0, 1.0, radii=-1.0)
    for radius in (1e-290, 1e290):
        with pytest.raises(InputError, match=r"radii must be between 1e-100 and 1e\+100, got"):
            pk.simulate(pre, X0, 1.0, radii=radius)
    with pytest.raises(InputError, match="harmonic sums cannot be used: they need a single"):
        pk.simulate(pre, X0, 1.0, sums="harmonic")
    with pytest.raises(InputError, match=r"forward needs a pk\.Transformer"):
        pk.forward(pk.Flow(lambda t, x: x, 3), X0, 1)
    with pytest.raises(InputError, match="layers must be a whole number ≥ 1, got 0"):
        pk.forward(pre, X0, 0)
    with pytest.raises(InputError, match="no lengths in this run"):
        pk.simulate(plain, X0, 1.0).radii_at(0.5)


@pytest.mark.parametrize("radii", [2.0, [2.0, 0.5], [np.linspace(1, 3, len(X0)), 0.5]])
def test_many_starts_have_radii_of_their_own(radii):
    model = pk.Transformer([pk.Head(d=3)], norm="pre")
    starts = [X0, X0[:2]]
    runs = pk.simulate_many(model, starts, 1.0, radii=radii)
    for start, run, radius in zip(starts, runs, [2.0, 2.0] if radii == 2.0 else radii, strict=True):
        alone = pk.simulate(model, start, 1.0, times="final", radii=radius)
        assert np.array_equal(run.radii, alone.radii)
        assert np.array_equal(run.tokens, alone.tokens)


@pytest.mark.parametrize(
    ("radii", "message"),
    [
        ([1.0], "radii must be a number or have one entry for each start, got 1 for 2 starts"),
        (
            [1.0, [1.0, 2.0, 3.0]],
            r"radii\[1\] must be a number > 0, or one for each of the 2 tokens",
        ),
        ([1.0, 1e200], r"radii\[1\] must be between 1e-100 and 1e\+100"),
        (-1.0, r"radii must be a number > 0"),
    ],
)
def test_radii_of_many_starts_are_checked(radii, message):
    model = pk.Transformer([pk.Head(d=3)], norm="pre")
    with pytest.raises(pk.InputError, match=message):
        pk.simulate_many(model, [X0, X0[:2]], 1.0, radii=radii)


def test_files_and_datasets_have_lengths(tmp_path):
    run = pk.simulate(pk.Transformer([pk.Head(d=3)], norm="peri"), X0, 5.0, radii=2.0)
    run.save(tmp_path / "run.npz")
    same = pk.load(tmp_path / "run.npz")
    assert np.array_equal(same.radii, run.radii)
    assert np.array_equal(same.radii_at(1.3), run.radii_at(1.3))
    assert same.model == run.model
    assert run.to_xarray().radii.shape == run.radii.shape
    path = pk.forward(run.model, X0, 3)
    path.save(tmp_path / "path.npz")
    assert np.array_equal(pk.load(tmp_path / "path.npz").radii, path.radii)
