import math

import numpy as np
import pytest

import parkade as pk
from parkade import plots


@pytest.mark.parametrize("d", [2, 3, 5])
def test_the_count_is_that_of_the_labels_for_every_radius(d):
    x = pk.sphere.uniform(60, d, seed=d)
    x[7] = x[3]
    result = pk.clusters.count_by_radius(x)
    assert (result.radii[0], result.counts[0], result.counts[-1]) == (0.0, 59, 1)
    assert (np.diff(result.radii) > 0).all()
    assert (np.diff(result.counts) < 0).all()
    between = np.append((result.radii[1:] + result.radii[:-1]) / 2, math.pi)
    expected = [len(np.unique(pk.cluster_labels(x, r))) for r in between]
    assert result.counts.tolist() == expected
    again = pk.clusters.count_by_radius(x, between)
    assert again.radii.tolist() == between.tolist()
    assert again.counts.tolist() == expected


def test_few_tokens():
    alone = pk.clusters.count_by_radius([[0.0, 1.0]])
    assert (alone.radii.tolist(), alone.counts.tolist()) == ([0.0], [1])
    assert pk.clusters.count_by_radius(np.eye(3)[:1], 0.1).counts.tolist() == [1]
    opposite = pk.clusters.count_by_radius([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]])
    assert (opposite.radii.tolist(), opposite.counts.tolist()) == ([0.0, math.pi], [2, 1])


def test_equal_tokens_count_once_though_others_have_their_angle():
    x = np.array([[0.0, 1.0], [1e-20, 1.0], [0.0, 1.0], [1.0, 0.0]])
    for tokens in (x, np.pad(x, ((0, 0), (0, 1)))):
        result = pk.clusters.count_by_radius(tokens)
        np.testing.assert_allclose(result.radii, [0.0, 1e-20, math.pi / 2], rtol=1e-12)
        assert result.counts.tolist() == [3, 2, 1]


@pytest.mark.parametrize(
    ("radii", "message"),
    [
        ([0.1, 4.0], r"radii must be an angle from 0 to π, got 4; give it in radians"),
        ([[0.1]], r"radii must be a list of angles, got shape \(1, 1\)"),
    ],
)
def test_bad_radii_are_refused(radii, message):
    with pytest.raises(pk.InputError, match=message):
        pk.clusters.count_by_radius(np.eye(3), radii)


def test_groups_wider_than_the_default_radius_are_seen_in_the_plot():
    rng = np.random.default_rng(1)
    path = pk.Path([0.0, 1.0], [group(rng, 0.2), group(rng, 0.02)])
    for t, number in ((0.0, 40), (None, 2)):
        ax = plots.count_by_radius(path, t=t)
        radii, counts = ax.get_lines()[0].get_data()
        assert counts[0] == 40
        assert counts[np.searchsorted(radii, 1.5, side="right") - 1] == 2
        usual = pk.clusters.count_by_radius(path.at(1.0 if t is None else t), 0.1).counts[0]
        expected = f"{usual} clusters within 0.1, the default"
        assert ax.get_legend().get_texts()[0].get_text() == expected
        assert (usual == 2) == (number == 2)


def group(rng, width):
    """20 tokens about each of two opposite points in d = 5."""
    x = width * rng.standard_normal((40, 5))
    x[:, 0] += np.repeat([1.0, -1.0], 20)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


# The default radius with noise


def test_with_noise_the_default_radius_is_twice_the_width_of_a_pair():
    """κ rms² = 4(d−1), as derived in docs/transformers.md; each case errs with probability 1e-4."""
    from scipy.stats import binom, chi2

    runs = 120
    ds = pk.ensemble(
        d=[2, 3],
        n=[2, 8],
        beta=1.0,
        noise=400.0,
        runs=runs,
        t_end=10.0,
        times=[10.0],
        tol=1e-2,
        start=("von Mises-Fisher", 50.0),
    )
    radii = [0.2, 0.2 * math.sqrt(2)]
    np.testing.assert_allclose(ds.cluster_radius.sel(n=2), radii, rtol=1e-12)
    for d in (2, 3):
        one = (ds.clusters.sel(d=d).isel(time=0) == 1).sum("run")
        together = chi2.cdf(4 * (d - 1), d - 1)
        low, high = binom.interval(1 - 1e-4, runs, together)
        assert low <= int(one.sel(n=2)) <= high
        assert int(one.sel(n=8)) >= low  # more tokens hold together better


def test_when_noise_does_not_count():
    plain = pk.clusters.default_radius(pk.Attention(2, 25.0))
    radius = [
        pk.clusters.default_radius(pk.Attention(2, 25.0, noise=noise))
        for noise in (1e9, pk.Noise(100.0, common=True), 1e4, 1.0)
    ]
    # Little noise, common noise, noise that counts, and noise that tears clusters apart.
    assert radius == pytest.approx([plain, plain, 0.04, 0.2], rel=1e-12)
    still = pk.Attention(2, 25.0, V=0.0, noise=1e4)
    assert pk.clusters.default_radius(still) == pytest.approx(0.2)
