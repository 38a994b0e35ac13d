"""`measure`: states in all the forms in which people have them, against the survey of a report.

Real tensors and outputs are in `test_torch.py`; the stand-ins here behave like them in what
`measure` asks of them, and run where PyTorch is not installed.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import parkade as pk
from parkade.trained.study import survey
from parkade.trained.texts import texts


class Tensor:
    """A tensor of bfloat16 on a GPU that needs a gradient: NumPy cannot read it as it is."""

    def __init__(self, values, state=("gradient", "gpu", "bfloat16")):
        self.values, self.state = np.asarray(values), state
        self.shape, self.ndim = self.values.shape, self.values.ndim
        self.dtype = "torch.bfloat16" if "bfloat16" in state else "torch.float32"

    def _without(self, name):
        return Tensor(self.values, tuple(one for one in self.state if one != name))

    def detach(self):
        return self._without("gradient")

    def cpu(self):
        return self._without("gpu")

    def float(self):
        return self._without("bfloat16")

    def __array__(self, dtype=None, copy=None):
        if self.state:
            raise TypeError(f"can't convert a tensor with {self.state} to numpy")
        return self.values


class Cache:
    """Like a dictionary, but not one, as caches of TransformerLens are."""

    def __init__(self, entries):
        self.entries = entries

    def keys(self):
        return self.entries.keys()

    def __getitem__(self, name):
        return self.entries[name]


@pytest.fixture(scope="module")
def readings(albert):
    return [albert.read(text, attention=True) for text in texts("reactions")[:3]]


@pytest.fixture(scope="module")
def expected(albert):
    """The numbers of a report on the same states."""
    return survey(albert, texts("reactions")[:3])


def batch(readings, side):
    """Hugging Face's tuple of hidden states of a padded batch, its attentions, and the mask."""
    longest = max(len(one.ids) for one in readings)

    def padded(x, axes, value=7.0):
        grown = longest - x.shape[axes[0]]
        width = [(grown * (side == "left"), grown * (side == "right")) if i in axes else (0, 0)
                 for i in range(x.ndim)]  # fmt: skip
        return np.pad(x, width, constant_values=value)

    states = np.stack([padded(one.hidden, [1]) for one in readings], axis=1)
    maps = np.stack([padded(one.attention, [2, 3]) for one in readings], axis=1)
    mask = np.stack([padded(np.ones(len(one.ids), int), [0], 0) for one in readings])
    return tuple(states), tuple(maps), mask


def cache(reading):
    entries = {"hook_embed": reading.hidden[0], "blocks.0.hook_resid_pre": reading.hidden[:1]}
    for i, state in enumerate(reading.hidden[1:]):
        entries[f"blocks.{i}.hook_resid_post"] = state[None]
        entries[f"blocks.{i}.attn.hook_pattern"] = reading.attention[i : i + 1]
    return Cache(entries)


def outputs(reading):
    """Outputs of Hugging Face for one text, as tensors."""
    return SimpleNamespace(
        hidden_states=tuple(Tensor(x[None]) for x in reading.hidden),
        attentions=tuple(Tensor(x[None]) for x in reading.attention),
    )


FORMS = {
    "arrays": lambda rs: {
        "states": [r.hidden for r in rs],
        "attention": [r.attention for r in rs],
    },
    "readings": lambda rs: {"states": rs},
    "outputs": lambda rs: {"states": [outputs(r) for r in rs]},
    "tuples": lambda rs: {
        "states": [outputs(r).hidden_states for r in rs],
        "attention": [outputs(r).attentions for r in rs],
    },
    "layers of texts": lambda rs: {
        "states": [list(r.hidden) for r in rs],
        "attention": [list(r.attention) for r in rs],
    },
    "caches": lambda rs: {"states": [cache(r) for r in rs]},
    "dictionaries": lambda rs: {"states": [vars(outputs(r)) for r in rs]},
    **{
        f"batch padded on the {side}": lambda rs, side=side: dict(
            zip(("states", "attention", "attention_mask"), batch(rs, side), strict=True)
        )
        for side in ("left", "right")
    },
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_numbers_of_a_report(readings, expected, form):
    arguments = FORMS[form](readings)
    arguments.setdefault("words", None if form == "readings" else [r.words for r in readings])
    measured = pk.trained.measure(arguments.pop("states"), **arguments)
    ours, theirs = measured.to_dict(), expected.to_dict()
    for name in ("texts", "tokens", "sinks", "curves", "centers", "captured", "pulled", "lengths"):
        assert ours[name] == theirs[name], name
    # The weights of a pass that keeps them are computed in another order.
    values = measured.attention.values, expected.attention.values
    assert np.abs(values[0] - values[1]).max() < 1e-6
    assert measured.words == expected.words
    assert measured.notes == ()


def test_one_text_is_an_array_and_says_what_is_missing(readings):
    one = pk.trained.measure(readings[0].hidden)
    assert one.texts == 1
    assert list(one.curves) == [
        "mean cosine", "mean cosine without sinks", "share of cosines > 0.9",
        "clusters (cosine > 0.9)", "energy, β = 10",
    ]  # fmt: skip
    assert (one.centers, one.captured, one.pulled, one.attention) == ({}, None, None, None)
    assert "nothing can be centred" in one.notes[0]
    assert one.words[0][:3] == ["0", "1", "2"]
    for form in (readings[0].hidden[None], readings[0].hidden[:, None]):  # a batch of one
        assert pk.trained.measure(form).to_dict() == one.to_dict()


def test_numbers_for_loggers_and_tables(readings):
    measured = pk.trained.measure(readings)
    scalars = measured.scalars()
    assert all(type(value) is float for value in scalars.values())
    cosine = measured.curves["mean cosine, centred"]
    assert scalars["mean cosine, centred/last"] == cosine.mean[-1]
    assert scalars["mean cosine, centred/last/gaussian"] == cosine.null_mean("gaussian")[-1]
    assert scalars["mean cosine, centred/last/p pooled"] == cosine.p("pooled")[-1]
    table = measured.to_dataframe()
    rows = table[(table.measure == "mean cosine, centred") & (table.text == 1)]
    assert rows.value.tolist() == cosine.values[1].tolist()
    assert rows.pooled.tolist() == cosine.nulls["pooled"][1].tolist()
    assert len(table) == sum(one.values.size for one in measured.measures.values())
    assert "mean cosine, centred: " in repr(measured)


def test_a_text_is_shown_with_its_words_and_attention(readings):
    measured = pk.trained.measure(readings)
    page = measured.show(1).text
    assert f'"label": "{len(readings[1].ids)} tokens through 12 layers"' in page
    assert '"unit": "layer"' in page
    assert '"roots"' in page
    assert '"mask": "full"' in page
    with pytest.raises(pk.InputError, match="text must be a number from 0 to 2, got 3"):
        measured.show(3)


def grown(n=30, d=24, layers=6, seed=0):
    """States of a stream that grows, as before a final norm."""
    rng = np.random.default_rng(seed)
    parts = rng.standard_normal((layers + 1, n, d)) * rng.uniform(0.5, 1.5, (layers + 1, n, 1))
    return parts.cumsum(axis=0)


def normed(states, gain):
    """The same states, the last one after a norm with this gain."""
    last = states[-1] / np.sqrt(np.mean(states[-1] ** 2, axis=1, keepdims=True)) * gain
    return np.concatenate([states[:-1], last[None]])


@pytest.mark.parametrize("spread", [0.0, 0.1, 0.3])
def test_a_final_norm_is_noticed_and_left_out(spread):
    rng = np.random.default_rng(1)
    raw = [grown(seed=i) for i in range(3)]
    gain = 8 * (1 + spread * rng.standard_normal(24))
    after = [normed(x, gain) for x in raw]
    auto = pk.trained.measure(after)
    assert auto.notes[0].startswith("the state after layer 6 was left out: it has the final norm")
    assert "final_norm=False keeps it" in auto.notes[0]
    same = pk.trained.measure([x[:-1] for x in raw], final_norm=False)
    assert auto.to_dict() == same.to_dict() | {"notes": list(auto.notes)}
    said = pk.trained.measure(after, final_norm=True)
    assert said.to_dict()["curves"] == auto.to_dict()["curves"]
    assert pk.trained.measure(after, final_norm=False).lengths.values.shape == (3, 7, 2)
    assert pk.trained.measure(raw).notes == ()


def test_a_final_norm_tames_sinks():
    """Without a jump of the median: the first token is long before the norm, and not after it."""
    raw = [grown(seed=i) for i in range(3)]
    for x in raw:
        x[2:, 0] *= 40
    middle = np.median(np.linalg.norm(raw[0][-2], axis=1))
    after = [normed(x, middle / np.sqrt(24) * np.linspace(0.8, 1.2, 24)) for x in raw]
    assert "it has the final norm" in pk.trained.measure(after).notes[0]


def test_norms_at_the_end_of_each_layer_are_no_final_norm(readings):
    """ALBERT ends each layer with a norm: its last state is one among others."""
    every = [grown(seed=i) for i in range(3)]
    every = [x / np.linalg.norm(x, axis=-1, keepdims=True) for x in every]
    assert pk.trained.measure(every).notes == ()
    assert pk.trained.measure([one.hidden for one in readings]).notes == ()


def test_padding_without_a_mask_is_named():
    zeros = grown()
    zeros[:, -2:] = 0
    with pytest.raises(pk.InputError, match=r"token 28 of text 1 .* by attention_mask"):
        pk.trained.measure(zeros)


def bad(states, **more):
    return lambda: pk.trained.measure(states, **more)


X = grown(6, 4, 2)
WRONG = {
    "no states": (bad(SimpleNamespace(hidden_states=None)), "output_hidden_states=True"),
    "seq2seq": (
        bad(SimpleNamespace(decoder_hidden_states=(X[0], X[1]))),
        "pass their encoder_hidden_states",
    ),
    "nothing": (bad(None), "states must be hidden states of texts, got None"),
    "empty": (bad([]), r"states must be hidden states of texts, got \[\]"),
    "text": (bad("a text"), "pass Hugging Face's outputs"),
    "one layer": (bad((X,)), "at least two layers"),
    "two texts or two layers": (bad(np.stack([X, X])), r"pass list\(states\) if the first axis"),
    "one matrix": (bad(X[0]), r"must be a \(layers \+ 1, n, d\) array, got shape \(6, 4\)"),
    "generate": (bad((X[:, :3], X[:, :1], X[:, :1])), "steps of generate"),
    "other models": (bad([X, X[..., :3]]), r"one model, got shape \(3, 6, 3\) for text 2"),
    "cache": (bad({"blocks.0.hook_resid_post": X[0]}), "must have blocks.0.hook_resid_pre"),
    "infinite": (bad(X * np.inf), "compute in bfloat16 or float32"),
    "complex": (bad(X + 1j), "must be real numbers, got complex128"),
    "strange": (bad(Tensor(X, ("lost",))), "cannot be read as an array"),
    "words": (bad(X, words=["a"]), "one word for each of the 6 tokens, got 1"),
    "one word": (bad(X, words=5), "words must be a list of strings, got 5"),
    "seed": (bad(X, seed="a"), "seed must be"),
    "words of texts": (bad([X, X], words=["a"] * 6), "a list for each text, got 1 for 2 texts"),
    "attention": (
        bad(X, attention=np.ones((3, 2, 6, 6))),
        r"must have the shape \(2, heads, 6, 6\)",
    ),
    "sdpa": (bad(X, attention=(None, None)), "attn_implementation='eager'"),
    "no attention": (bad(X, attention=5), "attention must be the weights of heads, got 5"),
    "mask": (bad(X, attention_mask=[[1, 1]]), "must have 6 numbers like the tokens"),
    "masks": (bad([X, X], attention_mask=[[1] * 6]), "a row for each text, got 1 for 2 texts"),
    "all masked": (bad(X, attention_mask=[[1] + [0] * 5]), "at least two tokens that are no sinks"),
    "norm": (bad(X, final_norm="yes"), "final_norm must be 'auto', True or False, got 'yes'"),
    "short": (bad(X[:2], final_norm=True), "one state is left"),
}


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_bad_input_gets_a_sentence(what):
    call, sentence = WRONG[what]
    with pytest.raises(pk.InputError, match=sentence):
        call()
