"""Which sums a run uses, that it checks them, and that they change nothing else."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest
from support import commands
from support.common import EPS, random_model, worst
from support.harmonics import ACCURACY, any_queries, place, systems, values
from support.marks import both, masks, seeds

import parkade as pk
from parkade.base.errors import InaccurateSumsError
from parkade.engine.flow import linear_time
from parkade.engine.flow.velocity import velocity
from parkade.engine.steps.stages import workspace_bytes
from parkade.engine.sums.running import CHUNK
from parkade.engine.sums.series import SERIES
from parkade.engine.system import unrolled
from parkade.solve.options import Options, Problem
from parkade.solve.planning import sums as choice
from parkade.sweeps.recipe import Recipe

# --- whole runs --------------------------------------------------------------------------


TWO_CHUNKS = CHUNK + 16
"""On the sphere, tokens of one chunk are summed directly."""


def runs(model, x0, t_end, **options):
    """The run with direct and with harmonic sums."""
    runs = [pk.simulate(model, x0, t_end, sums=sums, **options) for sums in ("direct", "harmonic")]
    assert [run.stats.sums for run in runs] == ["direct", "harmonic"]
    return runs


@seeds(1, 10)
@pytest.mark.parametrize(
    ("n", "beta", "t_end", "V"),
    [
        (TWO_CHUNKS, 64.0, 1e60, [1, 1]),
        (TWO_CHUNKS, 16.0, 1e40, [1, 1, 1]),
        (TWO_CHUNKS, 16.0, 1e40, [1, 1, -1]),
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
    # Both take the same steps up to rounding, so they agree far better than tol.
    for t in (1.0, 100.0, 1e5):
        assert worst(fast.at(t), direct.at(t)) <= 1e-9
    assert worst(fast.final, direct.final) <= 1e-9


@both
@masks
def test_explicit_runs_end_where_direct_ones_do(mask, d):
    model = pk.Attention(d, 9.0, V=values("diag", d), mask=mask)
    direct, fast = runs(model, pk.sphere.uniform(80, d, seed=5), 50.0, method="explicit")
    # Steps are the same unless rounding changes one, and errors shrink with the distances.
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


@seeds(1, 10)
@pytest.mark.parametrize(("d", "norm"), [(2, 16.0), (2, 64.0), (3, 16.0)], ids=["16", "64", "S²"])
def test_clusters_of_any_queries_merge_when_they_do_with_direct_sums(d, norm, seed):
    n = TWO_CHUNKS
    x0 = pk.sphere.uniform(n, d, seed=seed)
    direct, fast = runs(any_queries(d, norm, seed), x0, 1e6, method="implicit")
    one, two = direct.merge_tree(), fast.merge_tree()
    assert len(one.events) >= n - 5
    for a, b in zip(one.events, two.events, strict=True):
        assert (a.absorbed, a.into, a.size) == (b.absorbed, b.into, b.size)
        assert a.time == pytest.approx(b.time, rel=1e-6, abs=0)


@both
@masks
def test_explicit_runs_of_any_queries_end_where_direct_ones_do(mask, d):
    model = any_queries(d, 9.0, V=values("diag", d), mask=mask)
    frozen, weights = pk.sphere.uniform(3, d, seed=6), np.array([1.0, 20.0, 0.5])
    x0 = pk.sphere.uniform(80, d, seed=5)
    options = {"method": "explicit", "frozen": frozen, "frozen_weights": weights}
    direct, fast = runs(model, x0, 20.0, **options)
    assert worst(fast.final, direct.final) <= 1e-9


@both
def test_runs_with_multiples_of_the_identity_end_where_direct_ones_do(d):
    model = pk.Attention(d, 3.0, Q=2.0, K=1.5)
    direct, fast = runs(model, pk.sphere.uniform(80, d, seed=5), 10.0)
    assert worst(fast.final, direct.final) <= 1e-9


def test_many_runs_have_the_bits_of_one():
    starts = [pk.sphere.uniform(100, 2, seed=s) for s in range(3)]
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


@pytest.mark.parametrize("Q", [-1.0, [[0.0, -1.0], [1.0, 0.0]], [1.0, 0.5]])
def test_any_queries_are_summed_in_linear_time(Q):
    stats = brief_run(pk.Attention(2, 9.0, Q=Q), LARGE)
    assert stats.sums == "harmonic"
    assert stats.sums_reason == "faster for n=400 tokens"
    assert stats.engine.endswith("modes, for any Q and K")


def test_positive_multiples_of_the_identity_have_sums_of_their_own():
    stats = brief_run(pk.Attention(2, 9.0, Q=-2.0, K=-1.0), LARGE)
    assert stats.sums == "harmonic"
    assert "any Q and K" not in stats.engine


@pytest.mark.parametrize(
    ("model", "x0", "options", "reason"),
    [
        (pk.Attention(2, 9.0), SMALL, {}, "faster for n=10 tokens"),
        (pk.Attention(2, 9.0), LARGE, {"sums": "direct"}, "requested"),
        (pk.Attention(2, 9.0), LARGE, {"tol": 1e-12}, "tol=1e-12 needs more accuracy than"),
        (pk.Attention(5, 9.0), pk.sphere.uniform(400, 5, seed=1), {}, "d=5 is not 2 or 3"),
        (random_model(2), SMALL, {}, "faster for n=10 tokens"),
        (pk.Attention(2, 0.0), LARGE, {}, "β|KᵀQ| = 0 is too small"),
        (pk.Attention(2, 9.0, Q=0.0), LARGE, {}, "β|KᵀQ| = 0 is too small"),
        (
            pk.Attention(2, 9.0, mask="full"),
            pk.sphere.uniform(200, 2, seed=1),
            {"method": "implicit"},
            "the implicit method needs all weights under full attention",
        ),
    ],
    ids=["few", "requested", "tol", "d=5", "random", "β=0", "Q=0", "full"],
)
def test_where_direct_sums_are_better_or_needed_they_are_used(model, x0, options, reason):
    stats = brief_run(model, x0, **options)
    assert stats.sums == "direct"
    assert reason in stats.sums_reason
    assert stats.engine.startswith("direct sums")


@pytest.mark.parametrize("d", range(2, 11))
@pytest.mark.parametrize("method", ["explicit", "implicit"])
def test_every_dimension_runs(method, d):
    """With an engine of its own up to d = 7."""
    x0 = pk.sphere.uniform(20, d, seed=d)
    run = pk.simulate(pk.Attention(d, 1.0), x0, 200.0, method=method)
    # Theorem 4.1: all tokens end at the first one, which rests.
    assert worst(run.final, np.repeat(x0[:1], 20, axis=0)) <= 1e-5
    assert run.stats.engine.startswith("direct sums")


@pytest.mark.parametrize(
    ("model", "x0", "options"),
    [
        (pk.Attention(5, 9.0), np.eye(5), {}),
        (pk.Attention(2, 9.0, Q=0.0), SMALL, {}),
        (pk.Attention(2, 9.0, mask="full"), SMALL, {"method": "implicit"}),
    ],
    ids=["d=5", "zero", "full"],
)
def test_harmonic_sums_are_refused_if_impossible(model, x0, options):
    message = r"^harmonic sums cannot be used: [^.]+; use sums='direct'$"
    with pytest.raises(pk.InputError, match=message):
        brief_run(model, x0, sums="harmonic", **options)


def test_harmonic_sums_can_be_requested_where_direct_ones_are_faster():
    stats = brief_run(pk.Attention(2, 9.0), SMALL, sums="harmonic")
    assert (stats.sums, stats.sums_reason) == ("harmonic", "requested")


@pytest.mark.parametrize("d", [2, 3])
def test_huge_beta_is_settled_at_once(d):
    x0 = pk.sphere.uniform(50, d, seed=1)
    pk.simulate(pk.Attention(d), x0, 1e-3, times="final")  # compiles
    tracemalloc.start()
    run = pk.simulate(pk.Attention(d, 1e9), x0, 1e-3, times="final")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert run.stats.sums == "direct"
    assert peak < 2**24  # a table for S² would have 3e10 columns


def test_queries_that_need_too_large_a_table_are_summed_directly():
    model = pk.Attention(2, 1e5, Q=[1.0, 0.5])
    assert brief_run(model, LARGE, t_end=1e-6).sums == "direct"
    with pytest.raises(pk.InputError, match=r"harmonics, the limit is 2000"):
        brief_run(model, SMALL, sums="harmonic")


def test_too_many_harmonics_are_refused():
    with pytest.raises(pk.InputError, match=r"needs about 3e\+10 harmonics, the limit is 100000"):
        brief_run(pk.Attention(3, 1e9), pk.sphere.uniform(50, 3, seed=1), sums="harmonic")


@pytest.mark.parametrize("simulate", [pk.simulate, pk.simulate_many])
def test_unknown_sums_are_refused(simulate):
    x0 = SMALL if simulate is pk.simulate else [SMALL]
    with pytest.raises(pk.InputError, match=r"sums must be one of 'auto', 'direct', 'harmonic'"):
        simulate(pk.Attention(2), x0, 1.0, sums="nonsense")


@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-8])
def test_sums_are_more_accurate_than_steps(tol):
    sums = choice.choose(Problem.of(pk.Attention(2, 9.0), Options(1.0, tol=tol)), 1000)
    assert sums.name == "harmonic"
    assert 1e-14 <= sums.accuracy <= max(1e-14, 1e-4 * tol)


# --- a run checks its sums ---------------------------------------------------------------


@pytest.fixture
def wrong_coefficients(monkeypatch):
    """Coefficients that are wrong by 1e-6."""

    def table(d, beta, tail):
        good = SERIES[d].table(beta, tail)
        rows = slice(0, 5) if d == 2 else slice(1, 3)
        good[rows] *= 1 + 1e-6
        return good

    choice._table.cache_clear()
    monkeypatch.setattr(choice, "_table", table)


@pytest.mark.parametrize("method", ["explicit", "implicit"])
@pytest.mark.usefixtures("wrong_coefficients")
def test_a_run_with_wrong_sums_is_run_again(method):
    run = pk.simulate(pk.Attention(2, 9.0), LARGE, 5.0, method=method)
    assert run.stats.sums == "direct"
    assert run.stats.engine.startswith("direct sums")
    assert run.stats.sums_reason.startswith("run again: at t=")
    assert "harmonic sums have an error of" in run.stats.sums_reason
    expected = pk.simulate(pk.Attention(2, 9.0), LARGE, 5.0, method=method, sums="direct")
    assert np.array_equal(run.tokens, expected.tokens)
    assert np.array_equal(run.times, expected.times)


@both
@pytest.mark.usefixtures("wrong_coefficients")
def test_wrong_sums_that_were_requested_are_an_error(d):
    message = r"^at t=\S+ harmonic sums have an error of \S+, above the bound 1e-11; use sums="
    with pytest.raises(InaccurateSumsError, match=message):
        pk.simulate(pk.Attention(d, 9.0), place("uniform", 100, d), 5.0, sums="harmonic")


@both
@pytest.mark.parametrize(("beta", "weight"), [(9.0, 1e5), (16.0, 1e4), (20.0, 1e8)])
def test_heavy_frozen_tokens_keep_the_sums_of_a_run_accurate(beta, weight, d):
    # Series are truncated with an error per unit of mass, and one token may have a large mass.
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


def test_a_velocity_that_is_not_a_number_is_detected():
    x = place("uniform", 100, 2)
    _, fast = systems(pk.Attention(2, 9.0), len(x))
    broken = fast._replace(table=fast.table.copy())
    broken.table[1] = np.nan  # of Σ w sin Δ: the weights, and with them `is_lone`, see nothing
    assert np.isnan(velocity(broken, x)[50]).all()
    assert not linear_time.error(broken, unrolled(2), x, [50]) <= ACCURACY


# --- memory and trust --------------------------------------------------------------------


def test_implicit_runs_with_harmonic_sums_store_no_weights():
    for d in (2, 3):
        assert workspace_bytes(1_000_000, d, causal=True, stores=False) < 2**32
        assert workspace_bytes(1_000_000, d, causal=True) > 1e12


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
    # The estimate matches, except for the chunk of steps that is passed on.
    announced = workspace_bytes(20_000, 2, causal=True, stores=False)
    assert 0.3 * announced < peak < announced + 100e6


def test_trust_ends_earlier_with_the_noise_of_harmonic_sums():
    # Forces of 1e-56 between two clusters: from the start only noise could move them.
    x0 = pk.sphere.from_angles([0.0] * 5 + [3.0] * 5)
    model = pk.Attention(2, 64.0, mask="full")
    options = {"method": "explicit", "times": "final"}
    limits = {}
    for sums in ("direct", "harmonic"):
        with pytest.warns(pk.TrustWarning, match="rounding, not the model"):
            run = pk.simulate(model, x0, 6000.0, tol=1e-11, sums=sums, **options)
        limits[sums] = run.trusted_until
    # tol divided by the speeds 1e-14 and 16 EPS, each times |V| = √2
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
    # The requested sums are used.
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
    return commands.invoke("simulate", *args)


def test_the_command_sums_as_it_is_told():
    done = command("--n", 20, "--d", 2, "--t-end", 1, "--sums", "harmonic")
    assert done.exit_code == 0
    assert "Fourier sums" in done.stdout
    assert "requested" in done.stdout
    done = command("--n", 20, "--d", 2, "--t-end", 1)
    assert "direct sums, tiles: faster for n=20 tokens" in done.stdout


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--d", 4, "--sums", "harmonic"], "harmonic sums cannot be used: d=4 is not 2 or 3"),
        (["--d", 2, "--sums", "nonsense"], "sums must be one of 'auto', 'direct', 'harmonic'"),
    ],
)
def test_the_command_refuses_in_a_sentence(options, sentence):
    done = command("--n", 5, "--t-end", 1, *options)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert sentence in done.stderr
