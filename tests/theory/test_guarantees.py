import itertools
import math

import numpy as np
import pytest

import parkade as pk
from parkade.theory import capture_window, strong_center_guarantee
from parkade.theory.lemmas import h, smallest_c


def holds(N, c, eps, beta):
    """Theorem 5.2's conditions, written independently."""

    def h(x):
        return math.exp(beta * (math.cos(x) - 1)) * math.sin(x)

    def g(x):
        return math.exp(beta * (math.cos(x) - 1)) * (math.cos(x) - beta * math.sin(x) ** 2)

    r = math.sqrt(beta)
    return (
        c > 2 + 2 * eps
        and N * h((c - 1 - 2 * eps) / r) < h(eps / r)
        and -N * g((c - 2 * eps) / r) < g(eps / r)
        and c / r <= math.pi
    )


def random_sets(count, seed):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield {
            "N": 10 ** rng.uniform(0.4, 6),
            "c": rng.uniform(2, 9),
            "eps": 10 ** rng.uniform(-3, 0),
            "beta": 10 ** rng.uniform(0, 4),
        }


def test_all_four_given():
    seen = set()
    for v in random_sets(500, 0):
        window = capture_window(**v)
        assert window.holds == holds(**v)
        assert window.holds == all(s.holds for s in window.conditions)
        assert window.solved == ()
        assert ("does not apply" in window.sentence) == (not window.holds)
        seen.add(window.holds)
    assert seen == {True, False}
    failed = capture_window(N=1000, c=5, eps=0.1, beta=64)
    assert next(s.name for s in failed.conditions if not s.holds) in failed.sentence


@pytest.mark.parametrize("name", ["N", "c", "eps", "beta"])
def test_one_missing(name):
    solved = 0
    for v in random_sets(60, 1):
        known = {k: x for k, x in v.items() if k != name}
        window = capture_window(**known)
        assert window.holds is None
        if not window.solved:
            assert not holds(**v)  # so there is indeed nothing to find
            assert getattr(window, name) is None
            continue
        solved += 1
        assert holds(**{**known, name: getattr(window, name)})
        low, high = window.limits
        for share in (0.01, 0.3, 0.7, 0.99):
            top = min(high, 100 * low)
            assert holds(**{**known, name: low + share * (top - low)})
        # Just outside the limits it fails, unless they are the quantity's own limits.
        if name != "N" and low > (v["c"] / math.pi) ** 2 * (1 + 1e-9) * (name == "beta"):
            assert not holds(**{**known, name: low * (1 - 1e-6)})
        if name in ("N", "c", "eps"):
            assert not holds(**{**known, name: high * (1 + 1e-6)})
        if low < v[name] < high:
            assert holds(**v)
        elif name != "beta":
            assert not holds(**v)
    assert solved > 5


def test_a_window_may_close_as_beta_grows():
    known = {"N": 2.0, "c": 4.2, "eps": 0.5634538}
    window = capture_window(**known)
    high = window.limits[1]
    assert high < 100
    assert holds(**known, beta=window.beta)
    assert holds(**known, beta=high * (1 - 1e-9))
    assert not holds(**known, beta=high * (1 + 1e-9))
    assert not holds(**known, beta=1e8)


def test_the_largest_n_is_whole_and_no_larger_one_fits():
    for c, eps, beta in ((6, 0.1, 64), (4, 0.2, 1000), (5.5, 0.05, 20)):
        N = capture_window(c=c, eps=eps, beta=beta).N
        assert float(N).is_integer()
        assert holds(N, c, eps, beta)
        assert not holds(N + 1, c, eps, beta)
    huge = capture_window(c=60, eps=0.1, beta=1e4)
    assert huge.N > 1e300


def test_several_missing_gives_a_set_that_fits():
    full = {"N": 250.0, "c": 6.5, "eps": 0.1, "beta": 64.0}
    assert holds(**full)
    for size in (0, 1, 2):
        for names in itertools.combinations(full, size):
            window = capture_window(**{k: full[k] for k in names})
            assert set(window.solved) == set(full) - set(names)
            assert holds(window.N, window.c, window.eps, window.beta)
            assert all(getattr(window, k) == full[k] for k in names)
            assert "applies" in window.sentence


def test_the_sentence_when_nothing_fits():
    window = capture_window(c=1.5, N=10)
    assert window.holds is None
    assert window.eps is None
    assert "No eps, beta were found" in window.sentence
    assert "for any beta" in capture_window(N=1e6, c=3, eps=0.1).sentence
    assert "for any c" in capture_window(N=10, beta=0.1, eps=0.1).sentence
    assert "for any eps" in capture_window(N=10, beta=64, c=2).sentence
    assert "for any N" in capture_window(eps=0.1, beta=1, c=4).sentence


def test_the_sufficient_set_suffices():
    """c ≥ 5.5+2ε, β ≥ (c−1−2ε)²/2, N < e^{3(c−1−2ε)²/8}·ε/(c−1), ε < 0.1."""
    rng = np.random.default_rng(5)
    for i in range(20_000):
        eps = min(10 ** rng.uniform(-6, -1), 0.0999999)
        y = 4.5 + (0.0 if i % 4 == 0 else rng.exponential(1.5))
        c = y + 1 + 2 * eps
        beta = y * y / 2 * (1.0 if i % 3 == 0 else 10 ** rng.exponential(1.0))
        N = math.exp(3 * y * y / 8) * eps / (c - 1) * (1 - 1e-9)
        assert holds(N, c, eps, beta), (N, c, eps, beta)


def test_simulated_tokens_are_captured():
    beta, eps = 64.0, 0.1
    frozen = pk.sphere.from_angles([0.0, 1.0, 2.2, -1.5])
    x0 = pk.sphere.uniform(20, 2, seed=1)
    c = 1.0 * math.sqrt(beta) * (1 - 1e-9)
    assert capture_window(N=24, c=c, eps=eps, beta=beta).holds
    model = pk.Attention(d=2, beta=beta)
    run = pk.simulate(model, x0, 1e40, times="final", method="implicit", frozen=frozen)
    nearest = pk.sphere.distance(run.final[:, None], frozen[None]).min(axis=1)
    assert nearest.max() < eps / math.sqrt(beta)


def test_the_guarantee_is_the_lemma():
    beta, eps = 64.0, 0.1
    x = pk.sphere.uniform(30, 2, seed=3)
    stay = strong_center_guarantee(x, beta, eps)
    assert stay.distance[0] == np.inf
    assert stay.time[0] == np.inf
    assert stay.radius[0] == 0
    centers = 0
    for k in range(1, 30):
        nearest = min(float(pk.sphere.distance(x[j], x[k])) for j in range(k))
        assert stay.distance[k] == pytest.approx(nearest, rel=1e-14)
        c = nearest * math.sqrt(beta) / (1 + 2 * eps)
        if c <= smallest_c(beta):
            assert np.isnan([stay.c[k], stay.radius[k], stay.time[k]]).all()
            continue
        centers += 1
        u = c / math.sqrt(beta)
        assert stay.c[k] == pytest.approx(c, rel=1e-14)
        assert stay.radius[k] == pytest.approx(eps * u, rel=1e-14)
        assert stay.time[k] == pytest.approx(eps * u / ((k + 1) * h(u, beta)), rel=1e-12)
    assert centers > 3
    assert np.isinf(strong_center_guarantee([[1, 0], [-1, 0]], 1e4, 0.1).time[1])


def test_simulated_centers_stay_as_long_as_guaranteed():
    beta = 64.0
    checked = 0
    for seed in range(4):
        x0 = pk.sphere.uniform(40, 2, seed=seed)
        run = pk.simulate(pk.Attention(d=2, beta=beta), x0, 50.0, tol=1e-8)
        for eps in (0.05, 0.5):
            stay = strong_center_guarantee(x0, beta, eps)
            for k in np.flatnonzero(~np.isnan(stay.time)):
                times = np.linspace(0, min(50.0, stay.time[k]), 40)
                moved = pk.sphere.distance(run.at(times)[:, k], x0[k]).max()
                assert moved <= stay.radius[k] + 1e-6
                checked += 1
    assert checked > 40


def test_bad_input_gets_a_sentence():
    with pytest.raises(pk.InputError, match="N must be at least 2"):
        capture_window(N=1, c=5)
    with pytest.raises(pk.InputError, match="beta must be > 0"):
        capture_window(beta=-1)
    with pytest.raises(pk.InputError, match="d=2"):
        strong_center_guarantee(np.eye(3), 1.0, 0.1)
    with pytest.raises(pk.InputError, match="eps must be > 0"):
        strong_center_guarantee(np.eye(2), 1.0, 0.0)
