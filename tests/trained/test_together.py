"""All measures at once against the single measures, which are their naive twins."""

from functools import partial

import numpy as np
import pytest

import parkade as pk
from parkade.trained import measures as ms
from parkade.trained.measures import together
from parkade.trained.measures.gaussian import Gaussian


@pytest.fixture(scope="module")
def states():
    """Five texts whose tokens have a common direction, clusters, and a sink."""
    rng = np.random.default_rng(3)
    made = []
    for n in (31, 40, 36, 44, 35):
        centers = rng.standard_normal((5, 20))
        parts = centers[rng.integers(5, size=n)] + 0.4 * rng.standard_normal((6, n, 20))
        parts[:, 5] = parts[:, 9]  # equal tokens
        parts[2:, 0] *= 50
        made.append(parts + 0.5)
    return made


@pytest.fixture(scope="module")
def done(states):
    return together.measure_together(states, draws=2)


def naive(states):
    rest = [ms.without_tokens(x, ms.find_sinks(x)) for x in states]
    free = ms.centred(rest)
    return {
        "mean cosine": (ms.mean_cosine, states),
        "mean cosine without sinks": (ms.mean_cosine, rest),
        "mean cosine, centred": (ms.mean_cosine, free),
        "effective rank, centred": (ms.effective_rank, free),
        "share of cosines > 0.9": (ms.close_share, rest),
        "clusters (cosine > 0.9)": (ms.cluster_count, rest),
        "energy, β = 10": (partial(ms.energy, beta=10.0), rest),
    }


def test_curves_are_those_of_the_single_measures(states, done):
    twins = naive(states)
    assert list(done.curves) == list(twins)
    for name, (measure, layers) in twins.items():
        one = ms.over_depth(name, measure, layers, draws=40)
        ours = done.curves[name]
        assert np.abs(ours.values - one.values).max() < 1e-9, name
        for null in ours.nulls:
            # Ten draws of ours against 200: within six standard errors of ours.
            drawn = ours.nulls[null]
            error = drawn.std(axis=0).max() / 5**0.5 + 1e-3
            gap = np.abs(ours.null_mean(null) - one.null_mean(null)).max()
            assert gap < 6 * error, (name, null)
    assert set(done.curves["mean cosine"].nulls) == {"isotropic", "pooled"}


def test_centres_pulls_and_captures_are_those_of_the_single_measures(states, done):
    free = naive(states)["mean cosine, centred"][1]
    for kind in ("strong", "renyi"):
        one = ms.center_counts(free, kind=kind, draws=8)
        assert done.centers[kind].values.tolist() == one.values.tolist()
        reverse = done.centers[kind].nulls["reversed"], one.nulls["reversed"]
        assert reverse[0].tolist() == reverse[1].tolist()
    permuted = [m.nulls["permuted"] for m in (done.centers["strong"], ms.center_counts(free))]
    assert np.abs(permuted[0] - permuted[1]).max() < 1e-12
    # Between equal tokens there is no direction: what is computed there is a rounding error.
    assert np.abs(done.pulled.values - ms.earlier_pull(free).values).max() < 1e-9
    assert np.abs(done.captured.values - ms.capture(free).values).max() < 1e-12
    assert [one.tolist() for one in done.sinks] == [[0]] * 5


def test_counts_of_centres_are_those_of_the_search(states):
    """From the matrix of chords, and by `pk.renyi_centers` and `pk.strong_renyi_centers`."""
    for x in naive(states)["mean cosine, centred"][1]:
        for layer in x:
            unit = layer / np.linalg.norm(layer, axis=1, keepdims=True)
            for find, kind in ((pk.strong_renyi_centers, "strong"), (pk.renyi_centers, "renyi")):
                one = ms.centers.count(unit, kind=kind)
                assert one.forward == len(find(unit, one.delta))
                assert one.reversed == len(find(unit[::-1], one.delta))


def test_others_serve_for_centring_only(states):
    alone = together.measure_together(states[:1], states[1:])
    among = together.measure_together(states)
    for name, one in alone.curves.items():
        assert one.texts == 1
        assert one.values[0] == pytest.approx(among.curves[name].values[0], abs=1e-12), name
    assert alone.captured.values[0] == among.captured.values[0]
    assert "pooled" not in alone.curves["mean cosine, centred"].nulls


def test_the_gaussian_null_has_the_mean_and_the_covariance():
    rng = np.random.default_rng(0)
    for tokens in (
        rng.standard_normal((400, 6)) @ rng.standard_normal((6, 6)) + 3,  # Cholesky
        rng.standard_normal((5, 6)) + 3,  # fewer tokens than dimensions
        rng.standard_normal((400, 3)) @ rng.standard_normal((3, 6)) + 3,  # in a plane
    ):
        law = Gaussian.of(tokens)
        assert np.abs(law.root.T @ law.root - np.cov(tokens.T)).max() < 1e-5
        drawn = law.draw(200_000, rng)
        # 21 entries, each within 6 standard errors: wrong once in 10⁷ seeds.
        assert (
            np.abs(drawn.mean(axis=0) - tokens.mean(axis=0)).max()
            < 6 * (np.cov(tokens.T).max() / 200_000) ** 0.5
        )
        gap = np.abs(np.cov(drawn.T) - np.cov(tokens.T)).max()
        assert gap < 6 * np.cov(tokens.T).max() * (2 / 200_000) ** 0.5


def test_the_gaussian_null_explains_anisotropy_but_no_clusters():
    """A few large directions: cosines as in the null. Clusters: more close pairs than in it."""
    rng = np.random.default_rng(5)
    scales = np.array([8.0, 4.0, 2.0, *[0.3] * 17])
    smooth = [rng.standard_normal((3, 60, 20)) * scales for _ in range(8)]
    one = together.measure_together(smooth).curves["effective rank, centred"]
    assert np.abs(one.mean - one.null_mean("gaussian")).max() < 0.3
    assert (one.mean < one.null_mean("isotropic") - 5).all()
    clustered = []
    for _ in range(8):
        spots = rng.standard_normal((6, 20)) * scales
        near = spots[rng.integers(6, size=60)] + 0.05 * rng.standard_normal((3, 60, 20))
        clustered.append(near)
    one = together.measure_together(clustered).curves["share of cosines > 0.9"]
    assert (one.values > one.nulls["gaussian"]).all()
    assert (one.p("gaussian") == 2.0**-7).all()
