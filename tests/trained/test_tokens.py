"""Tokenizers of the formats that models come with."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from support import trained as tiny
from support import trained_files as written
from support.processes import in_fork

import parkade as pk
from parkade.trained.pieces import Pieces
from parkade.trained.tokens import Vocabulary

SPECIAL = [(b"<unk>", 0.0), (b"<s>", 0.0), (b"</s>", 0.0)]
WORDS = [(b" ", -9.0), (b"a", -8.0), (b"b", -7.0), (b"ab", -1.0), (b" a", -2.0), (b"bb", -3.0)]


def with_words(tmp_path, *words):
    """A BERT with this list of words."""
    folder = written.write_folder(tmp_path / "model", *tiny.bert(np.random.default_rng(1)))
    (folder / "vocab.txt").write_text("\n".join(words))
    return pk.trained.load(folder)


@pytest.mark.parametrize("name", ["merges.txt", "bpe.codes", "tokenizer.model"])
def test_words_beside_files_of_another_tokenizer_are_not_all(tmp_path, name):
    assert with_words(tmp_path, "a", "b").encode("ab") == [0, 1]
    (tmp_path / "model" / name).write_text("a b")
    model = pk.trained.load(tmp_path / "model")
    with pytest.raises(
        pk.InputError, match="has no tokenizer of a known kind, such as a tokenizer"
    ):
        model.encode("ab")
    assert model.read([0, 1]).words == ["0", "1"]


def slow(pieces, text):
    """The greedy algorithm as it is usually told: join the best pair, again and again."""
    ids = {piece: i for i, piece in enumerate(pieces.pieces)}
    parts = [c.encode() for c in " " + text]
    while True:
        pairs = [(a + b, i) for i, (a, b) in enumerate(pairwise(parts))]
        known = [(-pieces.scores[ids[pair]], i, pair) for pair, i in pairs if pair in ids]
        if not known:
            break
        _, i, pair = min(known)
        parts[i : i + 2] = [pair]
    joined = [1]
    for part in parts:
        joined += [ids[part]] if part in ids else [byte + 3 for byte in part]
    return joined


def full():
    single = [(bytes([byte]), -1e6) for byte in range(256)]
    listed = SPECIAL + single + WORDS
    return Pieces(tuple(p for p, _ in listed), tuple(s for _, s in listed))


def test_pieces_equal_the_slow_algorithm():
    pieces, rng = full(), np.random.default_rng(1)
    for _ in range(200):
        text = "".join(rng.choice(list("ab ü"), rng.integers(1, 12)))
        assert pieces.encode(text) == slow(pieces, text)
        assert pieces.decode(pieces.encode(text)) == text


def test_pieces_in_a_file_of_llama2c(tmp_path):
    config, tensors = tiny.llama(np.random.default_rng(1))
    pieces = SPECIAL + WORDS + [(b"<0x%02X>" % (65 + i), 0.0) for i in range(10)]
    path = written.write_llama2c(tmp_path / "model.bin", config, tensors, pieces)
    model = pk.trained.load(path)
    reading = model.read("abB")
    assert reading.words == ["<s>", " ", "ab", "B"]
    assert model.decode(reading.ids) == "abB"
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(pk.InputError, match=r"its tokenizer is (truncated|damaged)"):
        pk.trained.load(path)


def test_gguf_has_its_tokenizer(tmp_path):
    path = written.write_gguf(tmp_path / "model.gguf", *tiny.llama(np.random.default_rng(1)))
    model = pk.trained.load(path)
    assert model.encode("abc c12<|endoftext|>") == [9, 8, 5, 6, 0]  # digits are split
    assert model.decode([9, 8, 5]) == "abc c1"
    assert model.read("abc c").words == ["abc", " c"]


def test_folders_have_theirs(tmp_path):
    import tokenizers

    words = {word: i for i, word in enumerate(["[UNK]", "the", "cat", "sat"])}
    inner = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    inner.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    inner.enable_padding(length=12)
    folder = written.write_folder(tmp_path / "model", *tiny.llama(np.random.default_rng(1)))
    inner.save(str(folder / "tokenizer.json"))
    model = pk.trained.load(folder)
    assert model.encode("the cat sat down") == [1, 2, 3, 0]
    assert model.read("the cat").words == ["the", "cat"]
    (folder / "tokenizer.json").write_text(json.dumps({"version": "1.0"}))
    with pytest.raises(pk.InputError, match="is not a tokenizer"):
        pk.trained.load(folder)


def test_lists_of_words(tmp_path):
    words = Vocabulary(("[UNK]", "[CLS]", "[SEP]", "C", "Cl", "[C@H]", "(", ")"))
    ids = words.encode("CCl([C@H])?")
    assert ids == [1, 3, 4, 6, 5, 7, 0, 2]
    assert words.decode(ids[:-2]) == "CCl([C@H])"
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "walk", "##ed", "##ing", "we"]
    model = with_words(tmp_path, *pieces)
    assert model.encode("We walked") == [2, 8, 5, 6, 3]


def test_texts_and_ids_that_a_tokenizer_does_not_know(tmp_path):
    model = with_words(tmp_path, "[UNK]", "a", "b")
    assert model.encode("ab") == [1, 2]
    with pytest.raises(pk.InputError, match=r"no lone surrogates, got '\\ud800' at index 1"):
        model.read("a\ud800b")
    with pytest.raises(pk.InputError, match="list of words has 3, but the model has an id 4"):
        _ = model.read([1, 4]).words
    few = Pieces((b"<unk>", b"<s>", b"</s>", b"<0x41>"), (0.0,) * 4)
    with pytest.raises(pk.InputError, match="no piece for the byte 0x20"):
        few.encode("A")
    with pytest.raises(ValueError, match="a score for each piece"):
        Pieces((b"a", b"b"), (1.0,))


def test_tokenizers_work_in_forks_and_threads(tmp_path):
    model = with_words(tmp_path, "[PAD]", "[UNK]", "[CLS]", "[SEP]", "walk", "##ed")
    expected = json.dumps(model.encode("walked"))
    for _ in range(2):
        assert in_fork(lambda: json.dumps(model.encode("walked"))) == expected
        assert json.dumps(model.encode("walked")) == expected
    with ThreadPoolExecutor(4) as pool:
        texts = ["walked " * i for i in range(1, 40)]
        encoded = list(pool.map(model.encode, texts))
    assert [len(ids) for ids in encoded] == [2 + 2 * i for i in range(1, 40)]
