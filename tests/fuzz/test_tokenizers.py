"""Hostile tokenizers: ids and text, or one sentence; the process that reads them survives.

The library panics, aborts, takes all memory or never ends on the files of `WORST`. Others have a
part removed, cut, or replaced. `PARKADE_FUZZ` tries 1000 of them.
"""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest
from support.damage import outcome
from support.marks import many

import parkade as pk
from parkade.trained import library, tokens

TEXTS = ("", "the cat sat ab walked", "a" * 40, "ü\u0301 x\u2028\0", "🚗" * 3)

VALUES = (
    None, True, -1, 0, 2**31, 2**32, 2**63, 2**64, 10**30, 10**400, 1e308, -1e308, "", "x" * 10000,
    "\ud800", "\0", [], {}, [[]], [1, 2, 3], [["a"]], [["a", "b", "c"]], {"type": "Unknown"},
    {"type": "Sequence"}, {"Regex": "(a+)+$"}, {"Regex": "("}, {"String": ""}, "(a+)+$", "\\",
)  # fmt: skip

WORDS = {
    "type": "WordLevel",
    "vocab": {"[UNK]": 0, "the": 1, "cat": 2, "sat": 3},
    "unk_token": "[UNK]",
}
PAIRS = {
    "type": "BPE",
    "vocab": {"a": 0, "b": 1, "ab": 2, "<unk>": 3, "Ġ": 4},
    "merges": [["a", "b"]],
    "unk_token": "<unk>",
    "continuing_subword_prefix": None,
    "end_of_word_suffix": None,
    "dropout": None,
    "byte_fallback": False,
}
SCORES = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0], ["▁", -3.0]]}
SPECIAL = {
    "id": 0,
    "content": "[UNK]",
    "single_word": False,
    "lstrip": False,
    "rstrip": False,
    "normalized": False,
    "special": True,
}
TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [
        {"SpecialToken": {"id": "[UNK]", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
    ],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {"[UNK]": {"id": "[UNK]", "ids": [0], "tokens": ["[UNK]"]}},
}
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}


def replace(pattern, content="y"):
    return {"type": "Replace", "pattern": pattern, "content": content}


def split(pattern):
    kinds = {"behavior": "Isolated", "invert": False}
    return {"type": "Split", "pattern": pattern, **kinds}


def whole(model, **parts):
    """The contents of a tokenizer.json with this model."""
    empty = dict.fromkeys(
        ("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder")
    )
    return {"version": "1.0", **empty, "added_tokens": [], "model": model, **parts}


SOUND = {
    "words": whole(
        WORDS,
        added_tokens=[SPECIAL],
        pre_tokenizer={"type": "Whitespace"},
        post_processor=TEMPLATE,
        truncation={
            "direction": "Right", "max_length": 5, "strategy": "LongestFirst", "stride": 0
        },
        padding={
            "strategy": {"Fixed": 12}, "direction": "Right", "pad_to_multiple_of": None,
            "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]",
        },
    ),
    "pairs": whole(
        PAIRS,
        normalizer={"type": "Sequence", "normalizers": [{"type": "NFC"}, replace({"String": "x"})]},
        pre_tokenizer=BYTES,
        post_processor=BYTES,
        decoder=BYTES,
    ),
    "scores": whole(SCORES, normalizer={"type": "NFKC"}, pre_tokenizer=split({"Regex": r"\s+"})),
}  # fmt: skip

GROWTH = [replace({"String": "a"}, "a" * 100)] * 10
"""Makes 10²⁰ letters of one."""

WORST = {
    "panic while loading": whole(PAIRS | {"continuing_subword_prefix": "x" * 50}),
    "panic by a missing entry": whole(WORDS, post_processor=TEMPLATE | {"special_tokens": {}}),
    "panic by a length of 0": whole(PAIRS, pre_tokenizer={"type": "FixedLength", "length": 0}),
    "error while encoding": whole(WORDS | {"vocab": {}}),
    "memory": whole(PAIRS, normalizer={"type": "Sequence", "normalizers": GROWTH}),
    "abort": whole(
        PAIRS, normalizer={"type": "Precompiled", "precompiled_charsmap": "/////wAAAAA="}
    ),
    "endless": whole(PAIRS, pre_tokenizer=split({"Regex": "(?i)" + "a" * 100_000})),
}


def paths(part, path=()):
    """The paths to all parts of an object of JSON, but not to itself."""
    entries = part.items() if isinstance(part, dict) else enumerate(part)
    for key, value in entries:
        yield (*path, key)
        if isinstance(value, (dict, list)):
            yield from paths(value, (*path, key))


def hostile(case):
    """A story, and a tokenizer.json as bytes."""
    rng = np.random.default_rng([case, 31])
    kind = list(SOUND)[case % len(SOUND)]
    changed = copy.deepcopy(SOUND[kind])
    story = f"case {case}, {kind}:"
    for _ in range(rng.integers(1, 3)):
        places = list(paths(changed))
        *folders, last = places[rng.integers(len(places))]
        inside = changed
        for key in folders:
            inside = inside[key]
        if rng.integers(5):
            inside[last] = copy.deepcopy(VALUES[rng.integers(len(VALUES))])
        else:
            del inside[last]
        story += f" {[*folders, last]}"
    data = json.dumps(changed).encode()
    if not rng.integers(10):
        data, story = data[: rng.integers(len(data))], story + " cut"
    if not rng.integers(10):
        data, story = data.replace(b"a", b"\xff", 1), story + " in no encoding"
    return story, data


def use(folder):
    """Encode and decode some texts with the tokenizer of a folder."""
    made = tokens.of_folder(folder)
    for text in TEXTS:
        ids = made.encode(text)
        assert all(type(i) is int and i >= 0 for i in ids)
        assert isinstance(made.decode(ids), str)
        assert all(isinstance(made.word(i), str) for i in ids[:9])


def tried(folder, data, story):
    """Try a tokenizer: the sentence by which it is refused, or none."""
    (folder / "tokenizer.json").write_bytes(data)
    _, sentence = outcome(story, use, folder, refusal=pk.InputError)
    assert len(sentence) < 1000, story
    return sentence


@pytest.mark.parametrize("kind", SOUND)
def test_sound_ones(tmp_path, kind):
    assert tried(tmp_path, json.dumps(SOUND[kind]).encode(), kind) == ""


@pytest.mark.parametrize("kind", WORST)
def test_the_worst(tmp_path, monkeypatch, capfd, kind):
    monkeypatch.setattr(library, "_SECONDS", 0)  # one, by rounding
    monkeypatch.setattr(library, "_MEMORY", 2**28)
    assert "tokenizer" in tried(tmp_path, json.dumps(WORST[kind]).encode(), kind)
    assert capfd.readouterr() == ("", "")


def test_a_tokenizer_goes_on_after_a_bad_text(tmp_path):
    sound = whole(PAIRS | {"unk_token": "missing"})
    (tmp_path / "tokenizer.json").write_text(json.dumps(sound))
    made = tokens.of_folder(tmp_path)
    for _ in range(2):
        with pytest.raises(pk.InputError, match=r"cannot encode 'z': .*missing.*; pass ids"):
            made.encode("z")
        assert made.encode("ab") == [2]


def test_others(tmp_path):
    stories = [hostile(case) for case in range(many(15, 1000))]
    sentences = [tried(tmp_path, data, story) for story, data in stories]
    assert sum(bool(sentence) for sentence in sentences) >= len(sentences) // 3
