"""Scenes of texts: words, layers as a clock, attention of each head."""

import numpy as np
import pytest
from support.explorer import unpacked

import parkade as pk
from parkade.explorer.scenes.build import build
from parkade.explorer.scenes.words import CLOSE, Words
from parkade.explorer.standalone.export import show


def text_path(layers=3, n=5, d=4):
    states = np.random.default_rng(0).standard_normal((layers + 1, n, d))
    return pk.Path.normalized(range(layers + 1), states)


def weights(layers=3, heads=2, n=5):
    drawn = np.tril(np.random.default_rng(1).random((layers, heads, n, n)))
    return drawn / drawn.sum(axis=-1, keepdims=True)


def test_a_scene_has_words_a_clock_and_attention():
    a = weights()
    scene = build(text_path(), words=Words(list("abcde"), "five letters", a))
    assert scene["words"] == list("abcde")
    assert (scene["label"], scene["unit"], scene["mask"]) == ("five letters", "layer", "causal")
    assert scene["facts"]["layers"] == "3"
    attention = scene["attention"]
    stored = (unpacked(attention["roots"], np.uint8, 3, attention["heads"], 5, 5) / 255) ** 2
    assert np.abs(stored - a).max() < 1 / 255
    assert "words" not in build(text_path())


def test_clusters_of_texts_are_wider():
    close = pk.sphere.from_angles([[0.0, 0.4, 2.0]] * 2)
    path = pk.Path(range(2), close)
    assert CLOSE > 0.4
    assert build(path)["clusters"] == [3, 3]
    assert build(path, words=Words("abc", ""))["clusters"] == [2, 2]


def test_words_cannot_end_the_script():
    text = show(text_path(), Words(["</script>", "<b>", "&", "“", " "], "odd words")).text
    assert "</script>\\u003c" not in text
    assert "\\u003c/script>" in text


def test_wrong_numbers_of_words_and_weights_get_a_sentence():
    with pytest.raises(pk.InputError, match="one word for each of the 5 tokens, got 2"):
        build(text_path(), words=Words("ab", ""))
    with pytest.raises(pk.InputError, match=r"attention must be a \(3, heads, 5, 5\) array"):
        build(text_path(), words=Words("abcde", "", weights(layers=2)))
