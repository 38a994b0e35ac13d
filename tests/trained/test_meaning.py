"""What heads write, in words: kurtosis, its nulls, planted axes and wheels, and untrained words."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from support.planted import FEW, NAMES, WORDS, planted

from parkade.base.errors import InputError
from parkade.trained.meaning import kurtosis as ks
from parkade.trained.meaning import table
from parkade.trained.meaning.axes import ALL
from parkade.trained.meaning.vocabulary import expected, known_words
from parkade.trained.meaning.words import shown, wheel

TEXTS = ["".join(NAMES[i] for i in range(start, start + 30)) for start in (0, 50, 200)]


@pytest.fixture(scope="module")
def line():
    model, axis = planted(3)
    return model, axis, model.meaning(texts=TEXTS, seed=1)


@pytest.fixture(scope="module")
def turned():
    model, plane = planted(4, turned=True)
    return model, plane, model.meaning(texts=TEXTS, seed=1)


def test_kurtosis_of_a_line_is_the_usual_one():
    x = np.random.default_rng(0).standard_t(5, (7, 1, 300))
    expected = stats.kurtosis(x[:, 0], axis=1, fisher=False)
    np.testing.assert_allclose(ks.kurtosis(x), expected)


def test_kurtosis_of_a_plane_is_mardias():
    x = np.random.default_rng(1).standard_t(5, (2, 300)) + 3
    x[1] += 0.7 * x[0]
    s = x.T - x.mean(axis=1)
    inverse = np.linalg.inv(s.T @ s / len(s))
    naive = np.mean([(row @ inverse @ row) ** 2 for row in s])
    assert ks.kurtosis(x) == pytest.approx(naive * 3 / 8)
    assert ks.kurtosis(np.array([[2.0, 1.0], [-1.0, 3.0]]) @ x) == pytest.approx(ks.kurtosis(x))


@pytest.mark.parametrize("p", [1, 2])
def test_normal_laws_have_3(p):
    x = np.random.default_rng(2).standard_normal((p, 200_000))
    # Standard error √(24/n) = 0.011 for p = 1, less for p = 2: five of them, error 6e-7.
    assert ks.kurtosis(x) == pytest.approx(3, abs=0.055)


def test_flat_clouds_have_none():
    x = np.random.default_rng(3).standard_normal(50)
    assert ks.kurtosis(np.stack([x, 2 * x])) == 0
    assert ks.kurtosis(np.zeros((1, 5))) == 0


def test_tiles_do_not_matter(monkeypatch):
    rng = np.random.default_rng(4)
    rows, bases = rng.standard_normal((90, 8)), rng.standard_normal((11, 2, 8))
    whole = ks.along(rows, bases)
    monkeypatch.setattr(ks, "_TILE", 400)
    np.testing.assert_allclose(ks.along(rows, bases), whole)
    naive = [ks.kurtosis(basis @ rows.T) for basis in bases]
    np.testing.assert_allclose(whole, naive)


def test_covariant_directions_have_the_covariance():
    rows = np.random.default_rng(5).standard_normal((400, 3)) @ np.diag([3.0, 1.0, 0.2])
    drawn = ks.covariant(rows)(np.random.default_rng(6), 40_000)
    wanted = np.cov(rows.T)
    scale = np.sqrt(np.outer(np.diag(wanted), np.diag(wanted)))
    # Entries of a sample covariance have an error of at most √(2/n)·scale = 0.007: five of them.
    assert np.abs((np.cov(drawn.T) - wanted) / scale).max() < 0.036


def test_p_values_count_what_is_at_least_as_large():
    null = np.array([1.0, 2.0, 2.0, 5.0])
    np.testing.assert_allclose(
        ks.beyond(null, np.array([0.5, 2.0, 5.0, 6.0])), [1, 4 / 5, 2 / 5, 1 / 5]
    )


def test_a_planted_axis_is_named_by_its_words(line):
    _, axis, data = line
    head = data.sel(layer=0, head=0)
    assert abs(complex(head.eigenvalue) - 3) < 1e-9
    writes = head.sel(axis="writes")
    assert abs(writes.basis.values[0] @ axis[0]) == pytest.approx(1)
    assert writes.kurtosis > 8
    assert writes.holm < table.LEVEL
    sides = {frozenset(row[:FEW]) for row in writes.word.values}
    assert sides == {frozenset(NAMES[:FEW]), frozenset(NAMES[FEW : 2 * FEW])}
    assert (writes.spoke == "").all()
    # The sum of the heads has the same axis: the other one is small beside it.
    total = data.sel(layer=0, head=ALL, axis="writes")
    assert abs(total.basis.values[0] @ axis[0]) > 0.9


def test_other_heads_have_no_words(line):
    other = line[2].sel(layer=0, head=1)
    assert (other.holm >= table.LEVEL).all()
    assert (other.word == "").all()


def test_a_planted_wheel_is_in_order(turned):
    _, plane, data = turned
    head = data.sel(layer=0, head=0)
    assert complex(head.eigenvalue) == pytest.approx(3 + 1j)
    assert head.kind == "rotation"
    writes = head.sel(axis="writes")
    basis = writes.basis.values
    assert np.linalg.norm(basis @ plane.T) == pytest.approx(2**0.5)
    assert writes.holm < table.LEVEL
    assert (writes.word == "").all()
    rim = [word for word, r in zip(writes.spoke.values, writes.radius.values, strict=True)
           if r > 0.8]  # fmt: skip
    numbers = np.array([int(word[1:]) for word in rim])
    steps = np.diff([*numbers, numbers[0]]) % (2 * FEW)
    assert sorted(numbers) == list(range(2 * FEW))
    assert set(steps) in ({1}, {2 * FEW - 1})


def test_without_a_planted_axis_nothing_is_named():
    model, _ = planted(5, strength=0)
    data = model.meaning(texts=TEXTS, seed=2)
    assert (data.holm.sel(axis="writes") >= table.LEVEL).all()
    assert (data.word == "").all()


def test_p_values_of_random_heads_are_uniform():
    """Of 150 random directions, the share below 0.2: at most 0.36 but for a chance of 1e-6."""
    model, _ = planted(6, strength=0)
    known = known_words(model, TEXTS)
    rng = np.random.default_rng(7)
    null = ks.drawn(known.writing, ks.isotropic(known.writing), 1, 999, rng)
    observed = ks.along(known.writing, rng.standard_normal((150, 1, model.d)))
    below = int((ks.beyond(null, observed) <= 0.2).sum())
    low, high = stats.binom.ppf([1e-6, 1 - 1e-6], 150, 0.2)
    assert low <= below <= high + 1


def test_words_that_are_never_expected_do_not_count():
    model, _ = planted(8, unseen=100)
    known = known_words(model, TEXTS)
    assert known.words == list(NAMES[:-100])
    np.testing.assert_allclose(np.linalg.norm(known.writing, axis=1), 1, atol=1e-6)
    everything, _ = planted(8)
    assert len(known_words(everything, TEXTS)) == WORDS


def test_expected_words_are_the_mean_of_the_probabilities():
    model, _ = planted(9)
    rows = [row for text in TEXTS for row in model.read(text).logits[1:]]
    naive = [np.exp(row) / np.exp(row).sum() for row in rows]
    np.testing.assert_allclose(expected(model, TEXTS), np.mean(naive, axis=0), rtol=1e-6)


def test_changes_turn_what_the_head_writes(line):
    """Flipping the axis before the layer swaps the words of both ends in the logits."""
    model, _, _ = line
    before = model.read(TEXTS[1]).logits[-1]
    after = model.with_axis(0, 0, "flip").read(TEXTS[1]).logits[-1]
    gap = [row[:FEW].mean() - row[FEW : 2 * FEW].mean() for row in (before, after)]
    assert gap[0] * gap[1] < 0
    removed = model.with_axis(0, 0, "remove").read(TEXTS[1]).logits[-1]
    left = removed[:FEW].mean() - removed[FEW : 2 * FEW].mean()
    assert abs(left) < 0.5 * abs(gap[0])


def test_tied_layers_are_listed_once(albert):
    data = albert.meaning(draws=99)
    assert dict(data.sizes)["layer"] == 1
    assert data.attrs["decoded"] == "embedding"
    np.testing.assert_allclose(
        data.copying.values[0, :-1], albert.heads(draws=9).balance.values[0], atol=1e-9
    )


def test_same_seed_same_numbers(line):
    model, _, data = line
    again = model.meaning(0, texts=TEXTS, seed=1)
    assert again.identical(data)


def test_white_space_has_names():
    assert [shown(w) for w in (" a ", "\n", "\n\n", "\n   ", " ", "   ", "\t")] == [
        "a", "⏎", "⏎⏎", "⏎3", "␣", "␣3", "⇥",
    ]  # fmt: skip


def test_a_wheel_begins_at_its_longest_word():
    rows = np.array([[0.0, 0.9], [0.5, 0.0], [-0.4, 0.0], [0.0, -0.1]], np.float32)
    spokes = wheel(rows, ["top", "right", "left", " top"], np.eye(2), 3)
    assert [(s.word, round(np.degrees(s.angle))) for s in spokes] == [
        ("top", 0), ("left", 90), ("right", 270),
    ]  # fmt: skip
    assert spokes[0].radius == pytest.approx(0.9)


def test_a_model_without_words_gets_a_sentence():
    from dataclasses import replace

    model, _ = planted(1)
    with pytest.raises(InputError, match="has no tokenizer, so its heads have no words"):
        replace(model, tokenizer=None).meaning()
    with pytest.raises(InputError, match="layer must be a whole number"):
        model.meaning([0, 7])
