"""Claims on meaning: each agrees with a planted model, and refutes a wrong version of itself."""

import numpy as np
import pytest
from support.planted import FEW, NAMES, planted

import parkade as pk
from parkade.experiments.claims.trained import (
    copying,
    erases,
    flips,
    kurtosis,
    models,
    power,
    wheel,
)
from parkade.trained.meaning.axes import axes_of, matrices
from parkade.trained.meaning.vocabulary import known_words

TEXTS = ["".join(NAMES[i] for i in range(start, start + 40)) for start in range(0, 360, 30)]
CODED = tuple("\n" + " " * k for k in range(1, 13)) + NAMES[12:]


@pytest.fixture
def texts(monkeypatch):
    """Texts in the words of planted models, in place of parkade's."""
    monkeypatch.setattr("parkade.trained.texts.texts", lambda kind="prose": tuple(TEXTS))


@pytest.fixture
def names(monkeypatch):
    """Names at the two ends of the planted axis, sentences with them, and two pronouns there."""
    monkeypatch.setattr(flips, "FEMALE", NAMES[: FEW - 1] * 4)
    monkeypatch.setattr(flips, "MALE", NAMES[FEW : 2 * FEW - 1] * 4)
    fillers = [NAMES[100 + 7 * i : 107 + 7 * i] for i in range(6)]
    sentences = tuple("".join(f[:5]) + "{name}" + "".join(f[5:]) for f in fillers)
    monkeypatch.setattr(flips, "SENTENCES", sentences)
    monkeypatch.setattr(flips, "pronouns", lambda model: (FEW - 1, 2 * FEW - 1))
    monkeypatch.setattr(flips, "DRAWS", 2)


# Kurtosis


def test_planted_axes_stand_out_and_others_do_not(texts, quick, presentable, monkeypatch):
    monkeypatch.setattr(kurtosis, "judge", lambda beyond, lines, strong: (
        "agrees" if beyond >= kurtosis.SHARE * lines and strong else "contradicts"
    ))  # fmt: skip
    evidence = kurtosis.measure([planted(3)[0]], quick)
    (row,) = evidence.numbers["models"].values()
    assert row["lines_beyond"] == 1
    assert evidence.verdict == "agrees"
    value, cosine, words = max(row["stability"])
    assert value > 4
    assert cosine > 0.95
    assert words > 0.7
    presentable(kurtosis.CLAIM, evidence)
    nothing = kurtosis.measure([planted(3, strength=0)[0]], quick)
    assert nothing.verdict == "contradicts"


def test_verdicts_on_kurtosis():
    assert kurtosis.judge(20, 100, [0.9, 0.8, 0.1]) == "agrees"
    assert kurtosis.judge(20, 100, [0.9, 0.2, 0.1]) == "contradicts"  # not late
    assert kurtosis.judge(5, 100, [0.9]) == "contradicts"  # too few
    assert kurtosis.judge(20, 100, []) == "contradicts"  # none is strong


def test_noise_is_half_a_step_of_four_bits():
    model, _ = planted(1)
    part, moved = (
        m.block(0).attention for m in (model, kurtosis.noisy(model, np.random.default_rng(0)))
    )
    rows, off = (x.reshape(-1, 32) for x in (part.o, moved.o - part.o))
    step = (rows.max(axis=1) - rows.min(axis=1)) / 15
    assert (np.abs(off) <= step[:, None] / 2).all()
    assert np.abs(off).max() > 0.4 * step.min()
    np.testing.assert_array_equal(part.q, moved.q)


# Flips


def test_flipping_the_planted_axis_turns_the_words(names, quick, presentable):
    model, _ = planted(4)
    evidence = flips.measure([model], quick, layer=0, head=0)
    changes = evidence.numbers["changes"]
    assert changes["as trained"]["gap"] > 0
    assert changes["ξ flipped"]["gap"] < 0
    assert abs(changes["ξ removed"]["gap"]) < 0.1 * changes["as trained"]["gap"]
    assert changes["singular flipped"]["gap"] > 0.9 * changes["as trained"]["gap"]
    assert evidence.numbers["auc"][-1] > 0.95
    presentable(flips.CLAIM, evidence)


def test_another_head_does_not_turn_them(names, quick):
    evidence = flips.measure([planted(4)[0]], quick, layer=0, head=1)
    assert evidence.verdict == "contradicts"


def test_verdicts_on_flips():
    far = [(4.0, 5.0), (3.1, 6.0)]
    assert flips.judge((-5.0, -2.0), far, 6.0) == "agrees"
    assert flips.judge((-5.0, 0.5), far, 6.0) == "undecided"
    assert flips.judge((1.0, 2.0), far, 6.0) == "contradicts"  # no flip
    assert flips.judge((-5.0, -2.0), [*far, (-3.0, -1.0)], 6.0) == "contradicts"  # all flip
    assert flips.judge((-5.0, -2.0), [*far, (2.0, 4.0)], 6.0) == "undecided"


def test_gaps_are_those_of_whole_readings():
    model, _ = planted(5)
    texts = ["w000w100w101", "w007w102w103w104"]
    states = [[model.read(text).hidden[0]] for text in texts]
    flips_pronouns = flips.pronouns
    try:
        flips.pronouns = lambda m: (5, 11)
        got = flips.gaps(model, 0, states, np.array([1.0, -1.0]))
    finally:
        flips.pronouns = flips_pronouns
    naive = [s * (z[5] - z[11]) for s, z in
             zip((1, -1), (model.read(t).logits[-1] for t in texts), strict=True)]  # fmt: skip
    np.testing.assert_allclose(got[:, 0], naive)


def test_the_area_under_the_curve_counts_pairs():
    values, signs = np.array([3.0, 1.0, 2.0, 1.0]), np.array([1, 1, -1, -1])
    assert flips.auc(values, signs) == (1 + 1 + 0 + 0.5) / 4


# The wheel


@pytest.fixture
def code(monkeypatch):
    """Code in the words of a model whose first words are line ends with blanks."""
    monkeypatch.setattr(
        wheel, "CODE", ("w100\n{i}w101\n{i}w102", "w200\n{i}w201\n{i}w202\n{i}w203")
    )
    monkeypatch.setattr(wheel, "INDENTATIONS", tuple(range(1, 13)))
    planes = [np.linalg.qr(z).Q.T for z in np.random.default_rng(1).standard_normal((50, 32, 2))]
    monkeypatch.setattr(wheel, "_planes", lambda out, setup: planes)  # a range of 4 axes has few
    monkeypatch.setattr(wheel, "texts_for", lambda model, count: ["w020w030w040", "w050w060"])


def test_a_planted_wheel_is_seen(code, quick, presentable):
    evidence = wheel.measure([planted(6, turned=True, names=CODED)[0]], quick, layer=0, head=0)
    numbers = evidence.numbers
    assert numbers["in_order"] == 1
    assert numbers["turns"] == pytest.approx(11 / 12, abs=0.02)
    assert numbers["after"] > 0.8
    assert evidence.verdict == "agrees"
    presentable(wheel.CLAIM, evidence)


def test_without_a_wheel_the_claim_fails(code, quick):
    plain = planted(6, turned=True, names=CODED, strength=0)[0]
    assert wheel.measure([plain], quick, layer=0, head=0).verdict == "contradicts"
    line = planted(6, names=CODED)[0]
    assert wheel.measure([line], quick, layer=0, head=0).measured == "λ is real: no plane"


def test_circular_correlation_sees_turns_and_not_chance():
    rng = np.random.default_rng(0)
    a, b = rng.uniform(0, 2 * np.pi, (2, 400))
    assert wheel.circular(a, (a + 2) % (2 * np.pi)) == pytest.approx(1)
    assert wheel.circular(a, -a) == pytest.approx(-1)
    # Standard error 1/√400 = 0.05 by chance: five of them.
    assert abs(wheel.circular(a, b)) < 0.25
    assert wheel.error(a, (a + 2 * np.pi - 0.1)) == pytest.approx(np.degrees(0.1))
    # The mean distance of random angles is 90° ± 52°/20.
    assert wheel.error(a, b) == pytest.approx(90, abs=13)


def test_order_counts_turns_and_steps_in_one_sense():
    assert wheel.order(np.radians([10, 100, 190, 280, 350, 370 - 360])) == pytest.approx((1, 1))
    assert wheel.order(-np.radians([10, 100, 90, 180])) == pytest.approx((170 / 360, 2 / 3))


def test_verdicts_on_the_wheel():
    null = np.array([-0.5, 0.3])
    assert wheel.judge(0.9, 20.0, null) == "agrees"
    assert wheel.judge(0.9, 60.0, null) == "contradicts"
    assert wheel.judge(0.5, 20.0, null) == "contradicts"
    assert wheel.judge(0.9, 20.0, np.array([0.95])) == "contradicts"


# Copying


def test_heads_that_copy_raise_the_words_they_see(quick):
    rng = np.random.default_rng(1)
    words = rng.standard_normal((60, 20))
    words /= np.linalg.norm(words, axis=1, keepdims=True)
    own = np.arange(10)
    same = copying.rises(words[own], words, own)
    np.testing.assert_allclose(same, -copying.rises(-words[own], words, own))
    assert same.min() > 2
    logits = words[3] @ words.T
    naive = (logits[3] - logits.mean()) / logits.std()
    assert same[3] == pytest.approx(naive)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_score_of_a_planted_head_has_its_sign(texts, quick, sign):
    model, _ = planted(7, sign=sign)
    known = known_words(model, TEXTS)
    score, bare, seen, _ = copying.table(model, known, tuple(TEXTS[:2]), quick)
    assert np.sign(score[0, 0]) == sign
    assert score.shape == bare.shape == seen.shape == (1, 2)
    # A token at an end of the axis: the head raises its word, or lowers it.
    V, out = matrices(model, 0, 0)
    words = known.writing.astype(float)
    x = np.sqrt(model.d) * words[:1]
    assert np.sign(copying.rises(x @ V.T, words @ out, np.array([0])))[0] == sign


def test_verdicts_on_copying():
    assert copying.judge(0.9, 270, 2) == "agrees"
    assert copying.judge(0.2, 270, 2) == "contradicts"
    assert copying.judge(0.55, 270, 2) == "undecided"
    assert copying.judge(-0.9, 36, 2) == "contradicts"


def test_copying_is_presentable(texts, quick, presentable):
    evidence = copying.measure([planted(7)[0]], quick)
    assert evidence.verdict == "undecided"  # two heads say nothing
    presentable(copying.CLAIM, evidence)


# The power method


def test_attention_tilts_tokens_to_a_planted_axis(texts, quick, presentable):
    model, axis = planted(8, shear=0)
    np.testing.assert_allclose(
        np.abs(power.principal(model.sum_of_values(0)) @ axis.T), 1, atol=0.1
    )
    gains, controls = power.growth(model, TEXTS, quick)
    assert power.judge(gains.mean(axis=1), controls.mean(axis=1), 1) == "agrees"
    presentable(power.CLAIM, power.measure([model], quick))


def test_other_directions_are_not_tilted_to(quick, monkeypatch):
    """The wrong version: any direction instead of the principal one; or tokens that move away."""
    model, _ = planted(8, shear=0)
    gains, controls = (x.mean(axis=1) for x in power.growth(model, TEXTS, quick))
    assert power.judge(-gains, controls, 1) == "contradicts"
    line = np.linalg.qr(np.random.default_rng(2).standard_normal((model.d, 1))).Q.T
    monkeypatch.setattr(power, "principal", lambda V: line)
    other, controls = (x.mean(axis=1) for x in power.growth(model, TEXTS, quick))
    assert power.judge(other, controls, 1) != "agrees"
    assert other.mean() < 0.1 * gains.mean()


def test_shares_are_squared_cosines():
    x = np.array([[0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])
    assert power.share(x, np.eye(3)[:2]) == pytest.approx(0.5)
    assert power.share(x, np.eye(3)[:1]) == pytest.approx(0.18)


# The flow of one head


def pieces(model, count):
    rng = np.random.default_rng(9)
    return [pk.sphere.uniform(6, model.d, rng.integers(2**31)) for _ in range(count)]


def test_all_tokens_follow_the_first(monkeypatch, quick, presentable):
    model, _ = planted(10)
    monkeypatch.setattr(erases, "starts", lambda m, layer, count: pieces(m, count))
    evidence = erases.measure([model], quick, layer=0, head=0)
    assert evidence.verdict == "agrees"
    assert sum(row["erased"] for row in evidence.numbers["runs"]) > 0
    presentable(erases.CLAIM, evidence)


def test_without_a_mask_they_do_not(quick):
    """The wrong version: in full attention the first token is like any other."""
    model, _ = planted(10)
    flow = model.tied(0)
    free = pk.Transformer(flow.heads, norm="post", mask="full", d=model.d)
    axes = axes_of(*matrices(model, 0, 0))
    rows = [erases.follow(free, 0, x, axes.writes[0], axes.reads[0]) for x in pieces(model, 12)]
    assert erases.judge(rows) == "contradicts"


def test_verdicts_on_the_flow():
    right = {"at an end": 6, "with the first": 6, "erased": 2, "tokens": 6}
    assert erases.judge([right]) == "agrees"
    assert erases.judge([right | {"with the first": 5}]) == "contradicts"
    assert erases.judge([right | {"at an end": 5, "with the first": 5}]) == "undecided"
    assert erases.judge([right | {"erased": 0}]) == "undecided"  # nothing to erase


def test_starts_are_pieces_of_texts_without_their_first_token(texts):
    model, _ = planted(11)
    listed = erases.starts(model, 0, 6)
    assert len(listed) == 6
    for x in listed:
        assert x.shape == (erases.N, model.d)
        np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1)


def test_held_out_names_are_different():
    from parkade.experiments.claims.trained.held_out import CODE, FEMALE, MALE, SENTENCES

    assert len({*FEMALE, *MALE}) == 40
    assert len(FEMALE) == len(MALE)
    assert all(s.count("{name}") for s in SENTENCES)
    assert all(c.count("{i}") == 3 for c in CODE)
    assert models.ALARM == 1e-3
