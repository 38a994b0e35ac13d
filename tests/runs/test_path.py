"""Paths from any source: which input is accepted, and that everything works on them."""

from __future__ import annotations

import numpy as np
import pytest

import parkade as pk
from parkade import plots

RNG = np.random.default_rng(7)


def noise(d, times=9, n=20):
    """A path of random unit rows."""
    return pk.Path.normalized(np.arange(times), RNG.standard_normal((times, n, d)))


def test_a_path_is_what_was_given():
    tokens = pk.sphere.normalize(RNG.standard_normal((3, 5, 4)))
    path = pk.Path([0, 1, 5.5], tokens)
    assert (path.n, path.d) == (5, 4)
    assert np.abs(path.tokens - tokens).max() < 1e-15
    assert np.array_equal(path.at(5.5), path.final)
    assert path.at([0, 5.5]).shape == (2, 5, 4)
    assert repr(path) == "Path(5 tokens in d=4, t=0…5.5, 3 times)"


@pytest.mark.parametrize(
    ("times", "tokens", "message"),
    [
        ([0, 1], np.ones((2, 3)), r"tokens must be a \(T, n, d\) array with T=2 .* got shape"),
        ([0, 1], np.ones((3, 1, 2)), r"with T=2 like times, got shape \(3, 1, 2\)"),
        ([0, 0], np.ones((2, 1, 2)), r"times must increase, but number 1 is 0 after 0"),
        ([-1, 0], np.ones((2, 1, 2)), r"times must be ≥ 0, got -1"),
        ([[0]], np.ones((1, 1, 2)), r"times must be a non-empty 1-D array"),
        ([0], np.ones((1, 1, 1)), r"d must be ≥ 2"),
        ([0], np.full((1, 1, 2), np.nan), r"tokens must be finite, got nan at index 0, 0, 0"),
        ([0, 1], [np.eye(2), [[1, 0], [0, 3.0]]], r"token 1 at time number 1 has norm 3 \(the wo"),
        ([0], [[[1.0, 0]]], None),
    ],
)
def test_bad_arrays_are_refused(times, tokens, message):
    if message is None:
        pk.Path(times, tokens)
        return
    with pytest.raises(pk.InputError, match=message) as caught:
        pk.Path(times, tokens)
    assert "\n" not in str(caught.value)


def test_the_remedy_for_other_lengths_works():
    tokens = 3 * RNG.standard_normal((4, 6, 3))
    with pytest.raises(pk.InputError, match=r"use pk\.Path\.normalized\(times, tokens\)"):
        pk.Path(range(4), tokens)
    path = pk.Path.normalized(range(4), tokens)
    assert np.allclose(np.linalg.norm(path.tokens, axis=-1), 1)
    with pytest.raises(pk.InputError, match="is zero or not finite"):
        pk.Path.normalized([0], np.zeros((1, 2, 3)))


def test_only_models_are_models():
    with pytest.raises(pk.InputError, match="model must be a parkade model"):
        pk.Path([0], np.eye(2)[None], model="attention")
    with pytest.raises(pk.InputError, match="d=3 coordinates like the model"):
        pk.Path([0], np.eye(2)[None], model=pk.Attention(d=3))


@pytest.mark.parametrize("d", [2, 3, 5])
def test_every_analysis_works(d, tmp_path):
    path = noise(d)
    tree = path.merge_tree()
    assert tree.radius == 0.1
    assert tree.n == 20
    assert path.merge_tree(radius=3.0).count(8) == 1
    assert len(pk.cluster_labels(path.final, 0.3)) == 20
    centers = pk.renyi_centers(path.tokens[0], 0.5)
    share = pk.consumption(path, centers, 0.1)
    assert share.shape == (9,)
    assert tree.to_text()
    data = path.to_xarray()
    assert dict(data.sizes) == {"time": 9, "token": 20, "coord": d}
    path.save(tmp_path / "path.npz")
    back = pk.load(tmp_path / "path.npz")
    assert type(back) is pk.Path
    assert np.array_equal(back.tokens, path.tokens)
    assert np.array_equal(back.times, path.times)


@pytest.mark.parametrize("d", [2, 3, 5])
def test_every_plot_works(d):
    path = noise(d)
    names = ["overview", "life", "staircase", "merge_tree", "principal_axes"]
    names += {2: ["circle", "angles", "angle_life", "centers"], 3: ["sphere"]}.get(d, [])
    for name in names:
        if name == "principal_axes" and d == 2:
            continue
        drawn = getattr(plots, name)(path, **({"delta": 0.5} if name == "centers" else {}))
        figure = getattr(drawn, "figure", drawn)
        figure.set_layout_engine("none")  # two thirds of the time; `tests/plots` has layouts
        figure.draw_without_rendering()  # all but the dots
    assert plots.caption(path).startswith("n = 20")


def test_a_path_is_shown_on_a_page():
    assert "</html>" in pk.Path.normalized(range(4), RNG.standard_normal((4, 6, 3))).show().text


def test_words_are_saved_with_the_path(tmp_path):
    words = ["the", " cat", "\n", "猫"]
    tokens = pk.sphere.uniform(4, 3, seed=1)[None]
    path = pk.Path.normalized([0], tokens, words=words)
    path.save(tmp_path / "path.npz")
    loaded = pk.load(tmp_path / "path.npz")
    assert loaded.words == tuple(words)
    assert loaded.to_xarray()["word"].values.tolist() == words
    assert "word" not in pk.Path([0], tokens).to_xarray().coords


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["a"], "one word for each of the 2 tokens, got 1"),
        ("ab", "words must be a list of strings, got 'ab'"),
        (["a", 1], "a word must be a string, got 1"),
        (["a", "\ud800"], "a word must have no lone surrogates"),
    ],
)
def test_wrong_words_get_a_sentence(words, message):
    with pytest.raises(pk.InputError, match=message):
        pk.Path([0], [[[1.0, 0.0], [0.0, 1.0]]], words=words)


def test_a_model_gives_defaults():
    tokens = pk.simulate(pk.Attention(d=2, beta=64.0), pk.sphere.uniform(20, 2, seed=1), 50.0)
    path = pk.Path([0.0, 50.0], tokens.at([0.0, 50.0]), pk.Attention(d=2, beta=64.0))
    assert path.merge_tree().radius == 0.0125
    assert path.merge_tree().forming == 10.0
    assert noise(2).merge_tree().forming == 1.0


def test_simulations_are_paths():
    run = pk.simulate(pk.Attention(d=2), np.eye(2), 1.0)
    assert isinstance(run, pk.Path)
    plain = pk.Path(run.times, run.tokens)
    assert plain.merge_tree(radius=0.1).n == run.merge_tree(radius=0.1).n
    with pytest.raises(pk.InputError, match="is not among the"):
        plain.at(0.123)
