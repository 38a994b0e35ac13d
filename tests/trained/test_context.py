"""Attention against the length of a text: closed forms, naive loops, and bad input."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support import trained_files as written

from parkade.base.errors import InputError
from parkade.trained import context

IDS = [int(i) for i in np.random.default_rng(0).integers(0, 19, 96)]


@pytest.fixture
def tiny(tmp_path):
    return written.load(tmp_path, "llama", 3, settings={"max_position_embeddings": 128})[0]


def test_equal_weights_have_their_closed_forms():
    n, rows = 40, 8
    weights = np.tril(np.ones((n, n))) / np.arange(1, n + 1)[:, None]
    entropy, sink, older, critical = context.measured(weights[None, -rows:])
    sizes = np.arange(n - rows + 1, n + 1)
    assert entropy == pytest.approx(np.log(sizes - 1).mean())
    assert sink == pytest.approx((1 / sizes).mean())
    assert older == pytest.approx(((sizes - 1) // 2 / (sizes - 1)).mean())
    assert critical == pytest.approx(0, abs=1e-9)


def test_normal_scores_condense_where_the_random_energy_model_says():
    """Above 1 the entropy is bounded, below it is ln n − σ²/2 (Derrida 1981)."""
    rng = np.random.default_rng(1)
    n = 4000
    for share in (0.5, 2.0):
        scores = share * math.sqrt(2 * math.log(n)) * rng.standard_normal((60, 1, n))
        weights = np.exp(scores - scores.max(axis=2, keepdims=True))
        weights /= weights.sum(axis=2, keepdims=True)
        entropy, _, _, critical = context.measured(weights)
        assert critical.mean() == pytest.approx(share, rel=0.02)
        if share < 1:
            assert entropy.mean() == pytest.approx((1 - share**2) * math.log(n), rel=0.05)
        else:
            assert entropy.mean() < 1.5


def test_against_loops(tiny):
    data = tiny.context([IDS], [40, 64, 96])
    assert dict(data.sizes) == {"text": 1, "layer": 2, "head": 4, "length": 3}
    read = tiny.read(IDS, attention=True)
    for k, n in enumerate((40, 64, 96)):
        entropy, sink, older = [], [], []
        for i in range(n - context.ASKING, n):
            p = read.attention[1, 2, i, : i + 1]
            sink.append(p[0])
            rest = p[1:] / p[1:].sum()
            entropy.append(-sum(x * math.log(x) for x in rest if x > 0))
            older.append(sum(rest[: len(rest) // 2]))
        one = data.isel(text=0, layer=1, head=2, length=k)
        assert one.entropy == pytest.approx(np.mean(entropy))
        assert one.sink == pytest.approx(np.mean(sink))
        assert one.older == pytest.approx(np.mean(older))


def test_slopes_of_a_law_are_its_exponent():
    sizes = [64, 128, 1024]
    law = 0.3 + 0.7 * np.log(np.array(sizes) - 1.0)
    np.testing.assert_allclose(context.slopes(np.stack([law, 0 * law]), sizes), [0.7, 0])


def test_kinds_follow_the_slopes(tiny):
    data = tiny.context([IDS], [32, 96])
    slope = data.slope.mean("text").values
    expected = np.where(slope < 0.2, "sharp", np.where(slope > 0.8, "diluting", "between"))
    assert (data.kind.values == expected).all()


def test_bad_input_gets_a_sentence(tiny, albert):
    for lengths in ([64], [8, 64], [64, 500], [64, 70.5]):
        with pytest.raises(InputError, match="two or more whole numbers from 32 to 96"):
            tiny.context([IDS], lengths)
    with pytest.raises(InputError, match="at least one text, got none"):
        tiny.context([])
    with pytest.raises(InputError, match="is an encoder"):
        albert.context()
