"""What is seen of a page: pictures by their pixels, words by their places."""

from __future__ import annotations

import io
import itertools
import tempfile
from xml.etree import ElementTree as ET

import numpy as np
from PIL import Image


def pixels(png):
    """The colours of a PNG file, (height, width, 3) from 0 to 255."""
    with Image.open(io.BytesIO(png)) as picture:
        return np.asarray(picture.convert("RGB")).astype(np.int32)


def rgb(color):
    """A colour #rrggbb as three numbers."""
    return np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)])


def near(picture, x, y, reach=1):
    """The pixels around a point, (k, 3)."""
    x, y = round(x), round(y)
    return picture[max(0, y - reach) : y + reach + 1, max(0, x - reach) : x + reach + 1].reshape(
        -1, 3
    )


def has(picture, x, y, color, reach=1, within=12):
    """Whether a colour (three numbers) is seen around a point."""
    away = np.abs(near(picture, x, y, reach) - color).max(axis=1)
    return bool((away <= within).any())


def ringed(picture, x, y, reach, color, within=60):
    """Whether a ring of this colour and radius is seen around a point."""
    around = [(reach, 0), (-reach, 0), (0, reach), (0, -reach)]
    return sum(has(picture, x + dx, y + dy, color, 1, within) for dx, dy in around) >= 3


def covered(words):
    """The pairs of drawn words that cover each other, in part at least."""

    def over(a, b):
        across = min(a["right"], b["right"]) - max(a["left"], b["left"])
        return across > 0 and min(a["bottom"], b["bottom"]) > max(a["top"], b["top"])

    return [(a["text"], b["text"]) for a, b in itertools.combinations(words, 2) if over(a, b)]


def difference(one, other):
    """How two pictures differ, in a sentence, or "" where they are the same to the eye.

    A browser may round colours differently from time to time.
    """
    if one.shape != other.shape:
        return f"the sizes are {one.shape[:2]} and {other.shape[:2]}"
    away = np.abs(one - other).max(axis=2)
    rows, columns = np.nonzero(away > 8)
    if not len(rows):
        return ""
    folder = tempfile.mkdtemp(prefix="parkade-pictures-")
    for name, picture in (("one", one), ("other", other)):
        Image.fromarray(picture.astype(np.uint8)).save(f"{folder}/{name}.png")
    return (
        f"{len(rows)} pixels differ, by up to {away.max()}, in rows {rows.min()} to {rows.max()} "
        f"and columns {columns.min()} to {columns.max()}; both pictures are in {folder}"
    )


def same(one, other):
    """Whether two pictures are the same to the eye."""
    return one.shape == other.shape and np.abs(one - other).max() <= 8


def number_of(name):
    """The number of a token by its name, from 1: 12 for x₁₂; also the power in 10¹²."""
    return int("".join(str("₀₁₂₃₄₅₆₇₈₉⁰¹²³⁴⁵⁶⁷⁸⁹".index(c) % 10) for c in name if not c.isascii()))


def along(width, u):
    """Where the moment u is on a chart over time of this width, in pixels."""
    return 42 + u * (width - 56)


def svg_texts(data):
    """The texts of a drawing, as elements."""
    return list(ET.fromstring(data).iter("{http://www.w3.org/2000/svg}text"))
