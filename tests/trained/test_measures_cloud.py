"""Measures of clouds: brute force, closed forms, invariances; nulls; signs over texts."""

import itertools
import math

import numpy as np
import pytest
from support.common import random_rotation

import parkade as pk
from parkade.trained import measures as ms


def cloud(n=30, d=7, seed=0):
    return pk.sphere.uniform(n, d, seed)


def planted(sizes, d=12, width=1e-3, seed=0):
    """Clusters of these sizes around orthogonal directions."""
    rng = np.random.default_rng(seed)
    centers = np.eye(d)[np.repeat(np.arange(len(sizes)), sizes)]
    return pk.sphere.normalize(centers + width * rng.standard_normal(centers.shape))


def test_mean_cosine_and_close_share_are_means_over_pairs():
    x = cloud(25, 3)
    cosines = [float(x[i] @ x[j]) for i, j in itertools.combinations(range(25), 2)]
    assert ms.mean_cosine(x) == pytest.approx(np.mean(cosines), abs=1e-14)
    assert ms.close_share(x, 0.5) == np.mean([c > 0.5 for c in cosines])


def test_effective_rank_is_that_of_the_singular_values():
    x = cloud(30, 7)
    share = np.linalg.svd(x, compute_uv=False) ** 2 / 30
    assert ms.effective_rank(x) == pytest.approx(math.exp(-np.sum(share * np.log(share))))
    assert ms.effective_rank(x[:4]) <= 4  # the other Gram matrix


def test_identical_orthogonal_and_planted_tokens():
    same = np.tile(cloud(1, 9), (6, 1))
    assert ms.mean_cosine(same) == pytest.approx(1)
    assert ms.effective_rank(same) == pytest.approx(1)
    assert ms.close_share(same) == ms.cluster_count(same) == 1
    assert ms.energy(same, 30.0) == pytest.approx(1)
    across = np.eye(9)
    assert (ms.mean_cosine(across), ms.close_share(across), ms.cluster_count(across)) == (0, 0, 9)
    assert ms.energy(across, 2.0) == pytest.approx((1 + 8 * math.exp(-2)) / 9)
    three = planted((5, 5, 5))
    assert ms.cluster_count(three) == 3
    assert ms.effective_rank(three) == pytest.approx(3, rel=1e-3)
    assert ms.close_share(three) == pytest.approx(3 * 10 / 105)


@pytest.mark.parametrize(
    "measure",
    [ms.mean_cosine, ms.effective_rank, ms.close_share, ms.cluster_count,
     lambda x: ms.energy(x, 5.0)],
)  # fmt: skip
def test_measures_do_not_depend_on_axes_or_order(measure):
    x = planted((8, 4, 2), d=5, width=0.2)
    turn = random_rotation(5, seed=1)
    shuffled = x[np.random.default_rng(2).permutation(len(x))]
    assert measure(x @ turn) == pytest.approx(measure(x), abs=1e-12)
    assert measure(shuffled) == pytest.approx(measure(x), abs=1e-12)


def test_energy_never_falls_under_full_attention():
    model = pk.Attention(3, 4.0, mask="full")
    run = pk.simulate(model, cloud(12, 3), 20.0, times=np.linspace(0, 20, 30))
    energies = [ms.energy(x, 4.0) for x in run.tokens]
    assert (np.diff(energies) > -1e-9).all()
    assert energies[-1] > 2 * energies[0]


def test_one_token_has_no_cosine():
    with pytest.raises(pk.InputError, match="at least two tokens, got 1"):
        ms.mean_cosine([[1.0, 0.0]])


def test_sinks_are_found_and_left_out():
    hidden = np.random.default_rng(0).standard_normal((4, 10, 6))
    assert ms.find_sinks(hidden).size == 0
    hidden[2, 3] *= 50
    assert ms.find_sinks(hidden).tolist() == [3]
    rest = ms.without_tokens(hidden, [3])
    assert np.array_equal(rest, hidden[:, [0, 1, 2, *range(4, 10)]])
    with pytest.raises(pk.InputError, match="keep at least two tokens"):
        ms.without_tokens(hidden, range(9))


def test_texts_are_centred_by_the_others_alone():
    rng = np.random.default_rng(1)
    texts = [rng.standard_normal((3, n, 4)) for n in (5, 6, 7)]
    result = ms.centred(texts)
    others = np.concatenate([texts[0], texts[2]], axis=1).mean(axis=1)
    assert result[1] == pytest.approx(texts[1] - others[:, None], abs=1e-14)
    # A common direction vanishes; what the tokens of a text share stays.
    common, own = 10 * np.eye(4)[0], 3 * np.eye(4)[1]
    moved = ms.centred([texts[0] + common, texts[1] + common + own, texts[2] + common])
    assert moved[0] == pytest.approx(result[0] - own * 6 / 13)
    assert moved[1] == pytest.approx(result[1] + own)
    with pytest.raises(pk.InputError, match="mean of other texts"):
        ms.centred(texts[:1])


def test_depth_finds_what_texts_share_and_what_they_do_not():
    rng = np.random.default_rng(3)
    noise = rng.standard_normal((6, 2, 20, 16))
    noise[:, 1] += 4 * rng.standard_normal((6, 1, 16))  # in layer 1 each text has its own place
    result = ms.over_depth("cosine", ms.mean_cosine, noise)
    assert result.values.shape == (6, 2)
    assert result.texts == 6
    assert abs(result.mean[0]) < 0.05
    assert result.mean[1] > 0.8
    assert result.null_mean("pooled")[1] < 0.4
    assert np.abs(result.nulls["isotropic"]).max() < 0.05
    assert result.p("pooled")[1] == 2 / 2**6  # the least of six texts
    low, high = result.band()
    assert (low <= result.mean).all()
    assert (result.mean <= high).all()
    assert set(result.to_dict()) == {"name", "texts", "mean", "band", "nulls"}
    assert "pooled" not in ms.over_depth("cosine", ms.mean_cosine, noise[:1]).nulls


def test_depth_says_what_is_wrong():
    with pytest.raises(pk.InputError, match="layers and the dimension of one model"):
        ms.over_depth("x", ms.mean_cosine, [np.ones((2, 3, 4)), np.ones((3, 3, 4))])
    with pytest.raises(pk.InputError, match="token 1 has no direction in layer 0"):
        ms.over_depth("x", ms.mean_cosine, [np.ones((2, 3, 4)) * [[[1], [0], [1]]] * 1.0])
    with pytest.raises(pk.InputError, match="must have the shape"):
        ms.Measured("x", [[1.0]], {"null": [1.0]})


def test_sign_flips_are_exact_and_uniform_under_the_null():
    assert float(ms.sign_flip([1.0, -1.0])) == 1
    assert float(ms.sign_flip(np.ones(8))) == 2 / 2**8
    rng = np.random.default_rng(5)
    p = ms.sign_flip(rng.standard_normal((8, 4000)))
    # 4000 uniform values: 5.2 standard errors, error probability 2e-7.
    assert np.mean(p <= 0.1) == pytest.approx(0.1, abs=5.2 * math.sqrt(0.09 / 4000))
    many = ms.sign_flip(rng.standard_normal((20, 50)))
    assert (many > 0).all()
    assert (many < 0.05).mean() < 0.3
