"""Scenes of texts: words, layers as a clock, attention of each head."""

import dataclasses

import numpy as np
import pytest
from support.explorer import unpacked

import parkade as pk
from parkade.explorer.scenes.build import build
from parkade.explorer.scenes.text import CLOSE, Text


def text_path(words="abcde", layers=3, d=4):
    states = np.random.default_rng(0).standard_normal((layers + 1, 5, d))
    return pk.Path.normalized(range(layers + 1), states, words=words and list(words))


def weights(layers=3, heads=2, n=5):
    drawn = np.tril(np.random.default_rng(1).random((layers, heads, n, n)))
    return drawn / drawn.sum(axis=-1, keepdims=True)


def test_a_scene_has_words_a_clock_and_attention():
    a = weights()
    scene = build(text_path(), text=Text("five letters", a))
    assert scene["words"] == list("abcde")
    assert (scene["label"], scene["unit"], scene["mask"]) == ("five letters", "layer", "causal")
    assert scene["facts"]["layers"] == "3"
    attention = scene["attention"]
    stored = (unpacked(attention["roots"], np.uint8, 3, attention["heads"], 5, 5) / 255) ** 2
    assert np.abs(stored - a).max() < 1 / 255
    assert "words" not in build(text_path(words=None))


def test_a_path_with_words_is_a_text_by_itself():
    scene = build(text_path())
    assert (scene["words"], scene["unit"]) == (list("abcde"), "layer")
    assert scene["label"] == "5 tokens of a text through 3 layers"


def test_words_of_a_run_are_names_and_change_nothing_else():
    run = pk.simulate(pk.Attention(d=2), pk.sphere.uniform(3, 2, seed=1), 5.0)
    plain, named = build(run), build(dataclasses.replace(run, words=["a", "b", "c"]))
    assert named.pop("words") == ["a", "b", "c"]
    assert named == plain


def test_clusters_of_texts_are_wider():
    close = pk.sphere.from_angles([[0.0, 0.4, 2.0]] * 2)
    path, text = pk.Path(range(2), close), pk.Path(range(2), close, words=list("abc"))
    assert CLOSE > 0.4
    assert build(path)["clusters"] == [3, 3]
    assert build(text)["clusters"] == [2, 2]


def test_words_cannot_end_the_script():
    text = text_path(["</script>", "<b>", "&", "“", " "]).show().text
    assert "</script>\\u003c" not in text
    assert "\\u003c/script>" in text


def test_wrong_numbers_of_weights_get_a_sentence():
    with pytest.raises(pk.InputError, match=r"attention must be a \(3, heads, 5, 5\) array"):
        build(text_path(), text=Text("", weights(layers=2)))
