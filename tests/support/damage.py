"""Damage to files, and what a reader makes of it: a result or one sentence."""

from __future__ import annotations

import parkade as pk


def flip(data, rng):
    """Flip a random bit."""
    data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))


def scribble(data, rng):
    """Overwrite up to eight bytes with random ones."""
    for place in rng.integers(len(data), size=rng.integers(1, 9)):
        data[place] = rng.integers(256)


def cut(data, rng):
    """Remove the end, from a random place on."""
    del data[rng.integers(len(data)) :]


def lengthen(data, rng):
    """Add random bytes at the end."""
    data += rng.bytes(int(rng.integers(1, 5000)))


def zero(data, rng):
    """Replace a block by zeros, as if it was never written."""
    size = int(2 ** rng.integers(13))
    start = int(rng.integers(len(data))) // size * size
    data[start : start + size] = bytes(len(data[start : start + size]))


def exchange(data, rng):
    """Exchange two blocks of bytes."""
    size = min(int(2 ** rng.integers(3, 10)), len(data) // 2)
    a, b = sorted(rng.integers(len(data) - size + 1, size=2))
    b = max(a + size, b) if a + size <= len(data) - size else b
    if b + size <= len(data) and a + size <= b:
        data[a : a + size], data[b : b + size] = data[b : b + size], data[a : a + size]


DAMAGES = (flip, scribble, cut, lengthen, zero, exchange)


def outcome(story, call, *args, refusal=pk.ParkadeError):
    """The result of a call and "", or None and its error of one line; all else is a failure."""
    try:
        return call(*args), ""
    except refusal as error:
        sentence = str(error)
    except BaseException as error:
        raise AssertionError(f"{story}: {error!r}") from error
    assert sentence, f"{story}: an empty sentence"
    assert "\n" not in sentence, f"{story}: {sentence}"
    return None, sentence
