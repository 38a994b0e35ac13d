"""Noise: the paths, the method and its order, and Brownian motion by its moments."""

import dataclasses
import itertools

import numpy as np
import pytest
from support import brownian as paths
from support.drift import Drift
from support.marks import many

import parkade as pk
from parkade.base.errors import InputError, ParkadeError, UnfinishedError
from parkade.engine.steps import brownian, splitting
from parkade.engine.steps.brownian import Span
from parkade.engine.steps.integrator import Goal, Steps
from parkade.engine.system import SMALL_D, unrolled
from parkade.solve.lowering.brownian import noise_of as engine_noise
from parkade.solve.lowering.frame import transformer_frame
from parkade.solve.lowering.lower import prepare_field
from parkade.solve.options import Hooks, Options, Problem
from parkade.solve.solver import Solver

# Of Philox4x32-10, from the authors' Random123: counter, key, result.
KNOWN = [
    ((0,) * 4, (0,) * 2, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((2**32 - 1,) * 4, (2**32 - 1,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize(("counter", "key", "result"), KNOWN)
def test_generator_gives_the_published_answers(counter, key, result):
    words = np.array(counter, dtype=np.uint64)
    key = np.array(key, dtype=np.uint64)
    assert [int(word) for word in paths.philox(counter, key)] == list(result)
    brownian.philox(words, key)
    assert tuple(words.tolist()) == result


def noise_of(kappa=4.0, common=False, seed=1, d=3):
    model = pk.Transformer([], d=d, noise=pk.Noise(kappa, common))
    return engine_noise(model, seed, 0)


def test_a_path_is_the_same_however_it_is_cut():
    found = paths.Paths(noise_of(), 5, 3)
    whole = sum(found.increments(Span(0.0, 4.0, 1, 0, 1, 0.0)))
    for cells in (2, 16):
        np.testing.assert_allclose(
            sum(found.increments(Span(0.0, 4.0, cells, 0, cells, 0.0))), whole, atol=1e-12
        )
    later = found.increments(Span(0.0, 4.0, 16, 8, 16, 0.0))
    direct = found.increments(Span(2.0, 2.0, 8, 0, 8, 0.0))
    np.testing.assert_allclose(later, direct, atol=1e-12)


def test_increments_are_normal_and_independent():
    found = paths.Paths(noise_of(d=6), 4000, 6).increments(Span(0.0, 4.0, 8, 0, 8, 0.0))
    steps = np.array(found).transpose(1, 0, 2).reshape(4000, -1) / np.sqrt(0.5)
    # 1176 covariances of 4000 samples, with standard deviation 1/√4000 (√2 times that on the
    # diagonal): six of these are exceeded with probability below 1e-5.
    error = np.abs(np.cov(steps.T) - np.eye(48))
    assert error.max() < 6 * np.sqrt(2 / 4000)
    assert np.abs(steps.mean(axis=0)).max() < 6 / np.sqrt(4000)
    # Kolmogorov–Smirnov on numbers that are not all independent of each other: one column each.
    from scipy.stats import kstest

    assert min(kstest(column, "norm").pvalue for column in steps.T) > 1e-6 / 48


@pytest.mark.parametrize("common", [False, True])
def test_compiled_noise_is_the_naive_one(common):
    noise = noise_of(common=common, d=5)
    x = pk.sphere.uniform(7, 5, seed=2)
    for span in (Span(3.5, 0.25, 8, 0, 8, 0.0), Span(0.5, 0.5, 16, 3, 9, 0.3)):
        moved = x.copy()
        brownian.scatter_rows(noise, moved, 5, span, 0, 7)
        np.testing.assert_allclose(moved, paths.Paths(noise, 7, 5).scatter(x, span), atol=1e-13)
        np.testing.assert_allclose(np.linalg.norm(moved, axis=1), 1, atol=1e-15)


MODELS = {
    "attention": pk.Attention(2, 4.0, noise=4.0),
    "full": pk.Attention(3, 4.0, mask="full", noise=pk.Noise(4.0, common=True)),
    "pre": pk.Transformer(2, d=5, seed=1, norm="pre", mlp=pk.MLP.random(5, seed=2), noise=8.0),
    "sqrt": pk.Transformer([pk.Head(d=3)], norm="sqrt", position=pk.Alibi(0.5), noise=2.0),
}


@pytest.mark.parametrize("name", MODELS)
def test_compiled_runs_are_the_naive_ones(name):
    model = MODELS[name]
    x0, times = pk.sphere.uniform(6, model.d, seed=1), [0.1, 0.3, 0.6]
    run = pk.simulate(model, x0, 0.7, seed=3, times=times, tol=5e-3)
    options = Options(0.7, np.array(times), 5e-3)
    problem = dataclasses.replace(Problem.of(model, options), seed=3)
    state = np.hstack([x0, np.zeros((6, 1))]) if model.radii else x0
    naive = paths.Reference(problem, state)
    found = {}
    while naive.time < 0.7:
        ends, states, *_ = naive.advance(3)
        found |= dict(zip(ends.tolist(), states, strict=True))
    expected = np.array([found[t] for t in times])
    np.testing.assert_allclose(run.tokens, expected[..., : model.d], atol=1e-10)
    if model.radii:
        np.testing.assert_allclose(run.radii, np.exp(expected[..., model.d]), atol=1e-10)
    steps = pk.simulate(model, x0, 0.7, seed=3)
    assert np.abs(np.linalg.norm(steps.tokens, axis=-1) - 1).max() < 1e-13
    # Other times, the same path.
    np.testing.assert_array_equal(
        steps.final, pk.simulate(model, x0, 0.7, seed=3, times=[0.2, 0.7]).final
    )


@pytest.mark.parametrize("d", many([2, 5], range(2, 10)))
def test_brownian_motion_has_the_moments_of_the_heat_equation(d):
    n, kappa, t = 750, 2.0, 0.5
    x0 = np.tile(np.eye(d)[0], (n, 1))
    model = pk.Transformer([], d=d, noise=kappa)
    tokens = pk.simulate(model, x0, t, seed=d, tol=1e-2, times=[0.3, t]).tokens
    for when, x in zip((0.3, t), tokens, strict=True):
        # Degrees 1 and 2 of spherical harmonics decay at (d−1)/κ and 2d/κ. Sums of 750 numbers
        # of size 1 at most: five standard deviations, so 8 checks fail with probability 5e-6.
        first = np.exp(-(d - 1) * when / kappa)
        second = 1 / d + (1 - 1 / d) * np.exp(-2 * d * when / kappa)
        for values, mean in ((x[:, 0], first), (x[:, 0] ** 2, second)):
            assert abs(values.mean() - mean) < 5 * values.std() / np.sqrt(n)


def test_angles_on_the_circle_are_gaussian():
    n, kappa, t = 2000, 20.0, 1.0
    x0 = np.tile([1.0, 0.0], (n, 1))
    x = pk.simulate(pk.Transformer([], d=2, noise=kappa), x0, t, seed=1, tol=1e-2).final
    from scipy.stats import kstest

    # False alarm with probability 1e-5; no angle gets near π, which is ten standard deviations.
    assert kstest(np.arctan2(x[:, 1], x[:, 0]) / np.sqrt(2 * t / kappa), "norm").pvalue > 1e-5


def test_common_noise_moves_all_tokens_alike():
    x0 = np.vstack([pk.sphere.uniform(3, 3, seed=1)] * 2)
    run = pk.simulate(pk.Transformer([], d=3, noise=pk.Noise(2.0, common=True)), x0, 1.0, seed=1)
    np.testing.assert_array_equal(run.final[:3], run.final[3:])
    alone = pk.simulate(pk.Transformer([], d=3, noise=2.0), x0, 1.0, seed=1)
    assert np.abs(alone.final[:3] - alone.final[3:]).max() > 0.1


def fixed_step(model, x0, h, seed, strict):
    """The end at t = 1 with steps of one length, and cells of about h²."""
    n, d = x0.shape
    field = prepare_field(model, transformer_frame(model, long=False))
    noise = engine_noise(model, seed, 0)
    work = splitting.workspace(n, d)._replace(noise=noise, wanted=np.array([1.0]))
    work.clock[1] = h
    room = Steps(np.empty(2000), np.empty((2000, n, d)), np.empty((2000, 0, n, d)))
    x, goal = x0.copy(), Goal(1.0, strict * h**1.5, True)
    assert splitting.advance(field, unrolled(SMALL_D), x, work, goal, room) == round(1 / h)
    return x


@pytest.mark.parametrize(
    ("d", "common"), many([(2, False), (3, True)], list(itertools.product((2, 3), (False, True))))
)
def test_strong_order_is_one(d, common):
    model = pk.Transformer([pk.Head(d=d, beta=4.0)], mask="full", noise=pk.Noise(4.0, common))
    x0, sizes = pk.sphere.uniform(6, d, seed=1), 2.0 ** -np.arange(2, 7)
    errors = np.zeros(len(sizes))
    for seed in range(4):
        exact = fixed_step(model, x0, 2.0**-8, seed, 0.25)
        errors += [np.mean((fixed_step(model, x0, h, seed, 0.5) - exact) ** 2) for h in sizes]
    order = np.polyfit(np.log(sizes), 0.5 * np.log(errors), 1)[0]
    assert 0.85 < order < 1.25


def test_errors_follow_the_tolerance():
    model, x0 = MODELS["full"], pk.sphere.uniform(10, 3, seed=1)
    exact = pk.simulate(model, x0, 1.0, seed=1, tol=5e-5, times="final").final
    errors = [
        np.linalg.norm(pk.simulate(model, x0, 1.0, seed=1, tol=tol, times="final").final - exact)
        for tol in (1e-2, 1e-3, 3e-4)
    ]
    assert errors[0] > 2 * errors[1] > 3 * errors[2]


def test_little_noise_is_no_noise():
    x0 = pk.sphere.uniform(10, 3, seed=1)
    still = pk.simulate(pk.Attention(3, 4.0), x0, 3.0, times="final").final
    for kappa in (1e8, 1e40):
        noisy = pk.Attention(3, 4.0, noise=kappa)
        moved = pk.simulate(noisy, x0, 3.0, times="final", seed=1, tol=1e-5).final
        assert np.abs(moved - still).max() < 10 * np.sqrt(6 / kappa) + 1e-4


def test_turning_tokens_and_noise_turns_the_run():
    """Noise on S² by rotated increments, step by step, through the naive reference."""

    class Turned(paths.Paths):
        def increments(self, span):
            return super().increments(span) @ turn.T

    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
    x0, noise = pk.sphere.uniform(4, 3, seed=1), noise_of()
    span = Span(0.0, 1.0, 32, 0, 32, 0.0)
    there = Turned(noise, 4, 3).scatter(x0 @ turn.T, span)
    np.testing.assert_allclose(there, paths.Paths(noise, 4, 3).scatter(x0, span) @ turn.T)


def test_two_tokens_have_the_stationary_law_of_their_angle():
    """The angle φ between two tokens that attract each other has a law of its own.

    With β = 0 both tokens feel the mean of both, so dφ = −sin φ dt + √(4/κ) dB, whose stationary
    density is proportional to exp(κ cos φ / 2): E cos φ = I_1(κ/2)/I_0(κ/2).
    """
    from scipy.special import ive

    kappa, pairs = 4.0, 300
    model = pk.Attention(2, 0.0, mask="full", noise=kappa)
    starts = [pk.sphere.uniform(2, 2, seed=i) for i in range(pairs)]
    runs = pk.simulate_many(model, starts, 4.0, seed=1, tol=1e-2)
    cosines = np.array([run.final[0] @ run.final[1] for run in runs])
    # Relaxed to e^{-4}; five standard deviations of the mean: 1e-6, plus what is not relaxed.
    expected = ive(1, kappa / 2) / ive(0, kappa / 2)
    assert abs(cosines.mean() - expected) < 5 * cosines.std() / np.sqrt(pairs) + 0.02


def test_bits_do_not_depend_on_threads(monkeypatch):
    model = pk.Transformer([pk.Head(d=3, beta=4.0)], noise=4.0)
    starts = [pk.sphere.uniform(30, 3, seed=i) for i in range(4)]
    one, two = (pk.simulate_many(model, starts, 0.3, seed=5, threads=k) for k in (1, 2))
    for a, b, start in zip(one, two, starts, strict=True):
        np.testing.assert_array_equal(a.final, b.final)
        assert a.stats.seed == b.stats.seed
        again = pk.simulate(model, start, 0.3, seed=a.stats.seed, times="final")
        np.testing.assert_array_equal(again.final, a.final)
    assert len({run.stats.seed for run in one}) == 4
    x0 = pk.sphere.uniform(300, 3, seed=1)
    solver = Solver(model, Options(0.1, "final", 1e-3))
    problem = dataclasses.replace(solver.problem, seed=1)
    from parkade.solve.compiled import base as compiled
    from parkade.solve.compiled.field import NoisyFieldStepper

    monkeypatch.setattr(compiled, "PARALLEL_SECONDS", 0.0)
    plan = solver.plan(300)
    ends = []
    for alone in (False, True):
        stepper = NoisyFieldStepper(plan, problem, x0, alone=alone)
        with stepper:
            ends.append(stepper.advance(50)[1][-1].copy())
    np.testing.assert_array_equal(*ends)


def test_a_run_without_a_seed_can_be_repeated(tmp_path):
    model, x0 = MODELS["attention"], pk.sphere.uniform(5, 2, seed=1)
    run, other = (pk.simulate(model, x0, 1.0) for _ in range(2))
    assert run.stats.seed != other.stats.seed
    again = pk.simulate(model, x0, 1.0, seed=run.stats.seed)
    np.testing.assert_array_equal(run.tokens, again.tokens)
    run.save(tmp_path / "run.npz")
    loaded = pk.load(tmp_path / "run.npz")
    assert loaded.stats == run.stats
    assert loaded.model == model
    np.testing.assert_array_equal(loaded.at(0.3), run.at(0.3))
    assert run.to_xarray().attrs["seed"] == run.stats.seed
    run.to_xarray().to_netcdf(tmp_path / "run.nc")
    rng = pk.simulate(model, x0, 1.0, seed=np.random.default_rng(1))
    np.testing.assert_array_equal(
        rng.final, pk.simulate(model, x0, 1.0, seed=np.random.default_rng(1)).final
    )


def test_no_noise_needs_no_seed():
    x0 = pk.sphere.uniform(5, 2, seed=1)
    run, other = (pk.simulate(pk.Attention(2), x0, 1.0, seed=seed) for seed in (1, 2))
    np.testing.assert_array_equal(run.tokens, other.tokens)
    assert run.stats.seed is None
    assert run.stats.tol == 1e-6
    assert "seed" not in run.to_xarray().attrs


def test_between_steps_tokens_go_along_geodesics():
    run = pk.simulate(MODELS["pre"], pk.sphere.uniform(5, 5, seed=1), 1.0, seed=1)
    start, end = run.times[3:5]
    middle = run.at((start + end) / 2)
    expected = run.tokens[3] + run.tokens[4]
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(middle, expected, atol=1e-14)
    np.testing.assert_allclose(
        run.radii_at((start + end) / 2), np.sqrt(run.radii[3] * run.radii[4])
    )
    assert run.trusted_until == np.inf


def test_noise_of_parts_without_kernels_and_of_layers():
    x0 = pk.sphere.uniform(5, 3, seed=1)
    drift = pk.Transformer([pk.Head(d=3)], parts=[Drift([0.0, 0.0, 1.0])], noise=50.0)
    run = pk.simulate(drift, x0, 0.5, seed=1)
    assert run.stats.sums == "naive"
    unnormalised = pk.Transformer([pk.Head(d=3)], attention="unnormalised", noise=50.0)
    assert pk.simulate(unnormalised, x0, 0.5, seed=1).stats.method == "splitting"
    layers = pk.Layers([0, 0.4, 0.8], [pk.Attention(3, 4.0), MODELS["full"], drift])
    times = [0.2, 0.4, 0.6, 1.0]
    run = pk.simulate(layers, x0, 1.0, seed=1, times=times)
    np.testing.assert_array_equal(run.times, times)
    steps = pk.simulate(layers, x0, 1.0, seed=1)
    np.testing.assert_allclose(run.final, steps.final, atol=1e-12)
    still = pk.simulate(pk.Attention(3, 4.0), x0, 0.4, times=[0.2, 0.4])
    assert np.abs(run.tokens[:2] - still.tokens).max() < 1e-2
    warm = pk.simulate(
        MODELS["attention"], pk.sphere.uniform(4, 2, seed=1), 1.0, seed=1,
        schedule=pk.Schedule([0, 0.5], [1.0, 4.0]),
    )  # fmt: skip
    assert warm.times[-1] == 1.0


def test_unfinished_and_cancelled_runs_stop():
    model, x0 = MODELS["attention"], pk.sphere.uniform(5, 2, seed=1)
    with pytest.raises(UnfinishedError, match="max_steps=10"):
        pk.simulate(model, x0, 50.0, max_steps=10)
    part = pk.simulate(model, x0, 50.0, max_steps=10, partial=True, seed=1)
    assert part.stats.steps == 10
    np.testing.assert_array_equal(part.tokens, pk.simulate(model, x0, 50.0, seed=1).tokens[:11])
    with pytest.raises(ParkadeError, match="cancelled"):
        Solver(model, Options(50.0, "final", 1e-3)).run(x0, Hooks(cancelled=lambda: True))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m, x: pk.simulate(m, x, 1.0, method="implicit"), "method must be 'auto'"),
        (lambda m, x: pk.simulate(m, x, 1.0, sums="harmonic"), "harmonic sums cannot be used"),
        (lambda m, x: pk.simulate(m, x, 1.0, seed=-1), "seed must be ≥ 0"),
        (lambda m, x: pk.simulate(m, x, 1.0, seed="a"), "seed must be an int"),
        (lambda m, x: pk.forward(m, x, 3), "layers without noise"),
        (lambda m, x: pk.Noise(0.0), "kappa must be"),
        (lambda m, x: pk.Noise(1e99), "kappa must lie between"),
        (lambda m, x: pk.Noise(1.0, common=1), "common must be True or False"),
        (lambda m, x: pk.Attention(2, noise="much"), "noise must be pk.Noise"),
        (lambda m, x: pk.Attention(2, noise=-1.0), "noise must be pk.Noise"),
    ],
)
def test_bad_combinations_get_a_sentence(call, words):
    with pytest.raises(InputError, match=words):
        call(MODELS["attention"], pk.sphere.uniform(3, 2, seed=1))
