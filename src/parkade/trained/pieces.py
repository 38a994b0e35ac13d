"""A tokenizer of pieces with scores, as SentencePiece's byte-pair encoding: no library needed."""

from __future__ import annotations

import heapq
import re
import struct
from dataclasses import dataclass
from functools import cached_property

from parkade.base.errors import InputError

_BYTE = re.compile(rb"<0x([0-9A-F]{2})>")


@dataclass(frozen=True, eq=False)
class Pieces:
    """Neighbouring pieces are joined, those with the best score first; others become bytes.

    Attributes
    ----------
    pieces : tuple of bytes
        In the order of their ids.
    scores : tuple of float
    begin : int
        The id that begins every text.
    """

    pieces: tuple[bytes, ...]
    scores: tuple[float, ...]
    begin: int = 1

    def __post_init__(self) -> None:
        """Check that there is a score for each piece."""
        plain = all(isinstance(score, (int, float)) for score in self.scores)
        if len(self.scores) != len(self.pieces) or not plain:
            raise ValueError("its tokenizer does not have a score for each piece")

    @classmethod
    def from_bytes(cls, data: bytes, count: int) -> Pieces:
        """The pieces in a file of llama2.c."""
        place, pieces, scores = 4, [], []
        for _ in range(count):
            if place + 8 > len(data):
                raise ValueError("its tokenizer is truncated")
            score, size = struct.unpack_from("<fi", data, place)
            place += 8
            if not 0 <= size <= len(data) - place:
                raise ValueError("its tokenizer is damaged")
            pieces.append(data[place : place + size])
            scores.append(score)
            place += size
        return cls(tuple(pieces), tuple(scores))

    @cached_property
    def _ids(self) -> dict[bytes, int]:
        # Single bytes occur twice, as fallbacks and as pieces: the last id is the piece.
        return {piece: i for i, piece in enumerate(self.pieces)}

    @cached_property
    def _bytes(self) -> dict[int, int]:
        """The ids of bytes that are no pieces."""
        named = ((i, _BYTE.fullmatch(piece)) for i, piece in enumerate(self.pieces))
        ids = {int(match[1], 16): i for i, match in named if match}
        return ids or {byte: byte + 3 for byte in range(256)}

    def encode(self, text: str) -> list[int]:
        """The ids of a text."""
        parts: list[bytes] = [c.encode() for c in " " + text] if text else []
        following = list(range(1, len(parts) + 1))
        before = list(range(-1, len(parts) - 1))
        heap: list[tuple[float, int, bytes]] = []

        def offer(i: int) -> None:
            j = following[i]
            if j < len(parts):
                joined = parts[i] + parts[j]
                if joined in self._ids:
                    heapq.heappush(heap, (-self.scores[self._ids[joined]], i, joined))

        for i in range(len(parts)):
            offer(i)
        while heap:
            _, i, joined = heapq.heappop(heap)
            j = following[i]
            if not parts[i] or j >= len(parts) or parts[i] + parts[j] != joined:
                continue  # one of the two was joined with another one
            parts[i], parts[j] = joined, b""
            following[i] = following[j]
            if following[i] < len(parts):
                before[following[i]] = i
            offer(i)
            if before[i] >= 0:
                offer(before[i])
        ids = [self.begin]
        for part in parts:
            if part in self._ids:
                ids.append(self._ids[part])
            elif part:
                ids += [self._byte(byte) for byte in part]
        return ids

    def _byte(self, byte: int) -> int:
        if byte not in self._bytes:
            raise InputError(f"the tokenizer has no piece for the byte {byte:#04x} of the text")
        return self._bytes[byte]

    def decode(self, ids: list[int]) -> str:
        """The text of ids."""
        text = b"".join(self._raw(i) for i in ids).decode(errors="replace")
        return text.removeprefix(" ") if ids and ids[0] == self.begin else text

    def word(self, number: int) -> str:
        """The text of one id."""
        return self._raw(number).decode(errors="replace") if number > 2 else self._name(number)

    def _raw(self, number: int) -> bytes:
        if not 0 <= number < len(self.pieces):
            raise InputError(f"ids must lie in 0 … {len(self.pieces) - 1}, got {number}")
        byte = _BYTE.fullmatch(self.pieces[number])
        return b"" if number < 3 else bytes([int(byte[1], 16)]) if byte else self.pieces[number]

    def _name(self, number: int) -> str:
        return self.pieces[number].decode(errors="replace").strip()
