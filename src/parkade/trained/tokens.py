"""Tokenizers: from text to ids and back."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

from parkade.base import files
from parkade.base.errors import InputError
from parkade.trained.library import LibraryTokenizer

_PARTIAL = ("merges.txt", "bpe.codes", "tokenizer.model", "sentencepiece.bpe.model", "spiece.model")
"""Files of tokenizers for which a list of words is not all."""


class Tokenizer(Protocol):
    """What turns text into ids, and ids into text."""

    def encode(self, text: str) -> list[int]:
        """The ids of a text, with those that the model expects at its ends."""

    def decode(self, ids: list[int]) -> str:
        """The text of ids."""

    def word(self, number: int) -> str:
        """The text of one id."""


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The longest words of a list, one after the other, between [CLS] and [SEP]."""

    words: tuple[str, ...]

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.words)}

    def encode(self, text: str) -> list[int]:
        """The ids of a text; what no word begins is [UNK]."""
        longest, ids = max(map(len, self.words)), []
        unknown, place = self._ids.get("[UNK]", 0), 0
        while place < len(text):
            sizes = range(min(longest, len(text) - place), 0, -1)
            fits = (n for n in sizes if text[place : place + n] in self._ids)
            n = next(fits, 0)
            ids.append(self._ids[text[place : place + n]] if n else unknown)
            place += n or 1
        ends = [self._ids.get(name) for name in ("[CLS]", "[SEP]")]
        return [i for i in (ends[0], *ids, ends[1]) if i is not None]

    def decode(self, ids: list[int]) -> str:
        """The text of ids."""
        return "".join(self.word(i) for i in ids if self.word(i) not in ("[CLS]", "[SEP]"))

    def word(self, number: int) -> str:
        """The text of one id."""
        if not 0 <= number < len(self.words):
            raise InputError(
                f"the list of words has {len(self.words)}, but the model has an id {number}"
            )
        return self.words[number]


def of_folder(folder: Path) -> Tokenizer | None:
    """The tokenizer in a folder of Hugging Face's, if there is one that can be read."""
    whole, words = folder / "tokenizer.json", folder / "vocab.txt"
    if whole.is_file():
        with files.reading(whole, "a tokenizer of the library tokenizers"):
            return LibraryTokenizer("file", {"path": os.path.abspath(whole)})
    if words.is_file() and not any((folder / name).is_file() for name in _PARTIAL):
        with files.reading(words, "a list of words"):
            listed = words.read_text(encoding="utf-8").splitlines()
            if any(word.startswith("##") for word in listed):
                arguments = {"path": os.path.abspath(words), "lowercase": _lowercase(folder)}
                return LibraryTokenizer("words", arguments)
        return Vocabulary(tuple(listed)) if listed else None
    return None


def _lowercase(folder: Path) -> bool:
    settings = folder / "tokenizer_config.json"
    if not settings.is_file():
        return True
    with files.reading(settings, "settings in JSON"):
        return bool(json.loads(settings.read_text(encoding="utf-8")).get("do_lower_case", True))
