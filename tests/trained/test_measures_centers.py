"""Centres against permutations, capture, pulls, and attention to sinks."""

import itertools
import math

import numpy as np
import pytest

import parkade as pk
from parkade.trained import measures as ms
from parkade.trained.measures.centers import count


def test_the_null_of_strong_centres_is_exact_over_all_orders():
    x = pk.sphere.uniform(7, 2, seed=4)
    delta = 0.7
    near = ms.neighbours(x, delta)
    counts = [
        len(pk.strong_renyi_centers(x[list(order)], delta))
        for order in itertools.permutations(range(7))
    ]
    assert 0 < near.sum() < 42
    assert ms.expected_strong(near) == pytest.approx(np.mean(counts), abs=1e-12)
    assert ms.spread_strong(near) == pytest.approx(np.std(counts), abs=1e-9)


def test_the_null_of_strong_centres_agrees_with_permutations_of_a_large_cloud():
    x = pk.sphere.uniform(150, 3, seed=5)
    one = count(x)
    rng = np.random.default_rng(6)
    counts = [len(pk.strong_renyi_centers(x[rng.permutation(150)], one.delta)) for _ in range(800)]
    # Error probability 2e-7 each, by the normal law.
    assert np.mean(counts) == pytest.approx(one.permuted, abs=5.2 * one.spread / math.sqrt(800))
    assert np.std(counts) == pytest.approx(one.spread, rel=5.2 / math.sqrt(1600))
    assert one.permuted == pytest.approx(75, abs=1)


def test_half_radius_of_clusters_and_of_equal_tokens():
    angles = np.repeat([0.0, 1.0, 2.0], 2)
    angles[1::2] += 0.01
    x = pk.sphere.from_angles(angles)
    assert ms.half_radius(x) == pytest.approx(0.01)  # three pairs: three of six
    assert ms.half_radius(np.tile(x[:1], (4, 1))) == 0


@pytest.mark.parametrize("kind", ["strong", "renyi"])
def test_counts_forward_and_reversed_are_those_of_the_definition(kind):
    x = pk.sphere.uniform(40, 4, seed=7)
    find = pk.strong_renyi_centers if kind == "strong" else pk.renyi_centers
    result = count(x, 1.0, kind=kind)
    assert result.forward == len(find(x, 1.0))
    assert result.reversed == len(find(x[::-1], 1.0))
    again = count(x[::-1], 1.0, kind=kind)
    assert (again.forward, again.reversed) == (result.reversed, result.forward)
    assert again.permuted == pytest.approx(result.permuted, rel=0.1)


def test_leaders_are_told_from_locality():
    """Tokens gather at the first ones: fewer centres forward. A local text: in both orders."""
    rng = np.random.default_rng(8)
    led, local = [], []
    for _ in range(6):
        leaders = pk.sphere.uniform(10, 6, rng)
        # The first ten stand apart; each later one is near one of them, at its own side.
        rest = leaders[rng.integers(10, size=50)] + 0.25 * rng.standard_normal((50, 6))
        led.append(pk.sphere.normalize(np.concatenate([leaders, rest]))[None])
        walk = np.cumsum(rng.standard_normal((60, 6)), axis=0) + rng.standard_normal(6)
        local.append(pk.sphere.normalize(walk)[None])
    forward = ms.center_counts(led)
    assert forward.mean[0] < forward.null_mean("reversed")[0] - 0.05
    assert forward.p("reversed")[0] == 2 / 2**6
    both = ms.center_counts(local)
    assert both.mean[0] < both.null_mean("permuted")[0] - 0.05
    assert both.null_mean("reversed")[0] < both.null_mean("permuted")[0] - 0.05


def test_capture_finds_planted_centres():
    rng = np.random.default_rng(9)
    to_centers, to_tokens = [], []
    for _ in range(5):
        x = pk.sphere.uniform(60, 3, rng)
        centers = pk.renyi_centers(x, 0.6)
        ends = [x.copy(), x.copy()]
        for k in range(1, 60):
            led = centers[centers < k]
            if k not in centers:
                ends[0][k] = x[led[np.argmax(x[led] @ x[k])]]
                ends[1][k] = x[np.argmax(x[:k] @ x[k])]
        noise = 0.02 * rng.standard_normal((2, 60, 3))
        ends = pk.sphere.normalize(np.array(ends) + noise)
        to_centers.append(np.stack([x, ends[0]]))
        to_tokens.append(np.stack([x, ends[1]]))
    led = ms.capture(to_centers, delta=0.6)
    assert led.values.mean() < led.null_mean("matched") - 0.05
    assert led.values.mean() < led.null_mean("token") - 0.01
    plain = ms.capture(to_tokens, delta=0.6)
    assert plain.null_mean("token") < plain.values.mean() - 0.01
    assert plain.nulls["random"] == pytest.approx(0.5, abs=0.2)
    with pytest.raises(pk.InputError, match="no centres"):
        ms.capture(to_centers, delta=0.0)


def test_pulls_agree_with_brute_force():
    rng = np.random.default_rng(10)
    x, y = pk.sphere.normalize(rng.standard_normal((2, 6, 4)))
    result = ms.pulls(x, y)
    for k, j in itertools.permutations(range(6), 2):
        flat = np.eye(4) - np.outer(x[k], x[k])
        move, way = flat @ y[k], flat @ x[j]
        cosine = move @ way / np.linalg.norm(move) / np.linalg.norm(way)
        assert result[k, j] == pytest.approx(cosine, abs=1e-12)
    assert np.array_equal(ms.pulls(x, x).round(9), np.zeros((6, 6)))


def test_causal_attention_pulls_to_earlier_tokens():
    runs = []
    for seed in range(5):
        start = pk.sphere.uniform(30, 3, seed)
        runs.append(pk.simulate(pk.Attention(3, 4.0), start, 2.0, times=[0, 1, 2]).tokens)
    result = ms.earlier_pull(runs)
    assert (result.mean > result.null_mean("later") + 0.1).all()
    assert (result.p("later") == 2 / 2**5).all()


def test_sink_scores_of_even_and_of_sunk_heads():
    n = 9
    even = np.tril(np.ones((n, n))) / np.arange(1, n + 1)[:, None]
    sunk = np.zeros((n, n))
    sunk[:, 0] = 1
    scores, null = ms.sink_scores(np.stack([[even, sunk]] * 2))
    assert scores.shape == (2, 2)
    assert scores[0] == pytest.approx([null, 1])
    assert ms.sink_share(scores) == 0.5
    assert ms.sink_scores(np.full((n, n), 1 / n))[1] == pytest.approx(1 / n)
    assert ms.sink_scores(even, 3)[0] == pytest.approx(np.mean(1 / np.arange(5, n + 1)))
    with pytest.raises(pk.InputError, match="index from 0 to 7"):
        ms.sink_scores(even, 8)
