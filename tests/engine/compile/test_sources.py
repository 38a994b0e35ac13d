"""Names of code: comments and docstrings do not count, everything else does."""

from __future__ import annotations

from pathlib import Path

import pytest

from parkade.engine.compile import jit, sources

CODE = b"""\"\"\"A module.\"\"\"
SIZES = {"small", "large", "huge"}


class Kept:
    \"\"\"A class.\"\"\"
    size: int = 3  # a comment

    def area(self, x):
        \"\"\"A function.\"\"\"
        return x if x in {"a", "b", "c"} else 2.0 * x
"""


def digest(code):
    return sources.digest_of_code([("module.py", code)])


@pytest.mark.parametrize(
    ("old", "new", "counts"),
    [
        (b"# a comment", b"# another, longer one", False),
        (b"A module.", b"Another module.", False),
        (b"A class.", b"Another class.", False),
        (b"A function.", b"Another one.\n\n        With more lines.\n        ", False),
        (b"\n\nclass", b"# one more line\n\n\nclass", False),
        (b'        """A function."""\n', b"", False),
        (b"int = 3", b"int = 4", True),
        (b"2.0", b"2.5", True),
        (b'"huge"', b'"vast"', True),
        (b'"c"', b'"d"', True),
        (b"self, x", b"self, x, y", True),
        (b"x in", b"x not in", True),
        (b"area", b"volume", True),
    ],
)
def test_code_counts_and_words_do_not(old, new, counts):
    assert old in CODE
    assert (digest(CODE.replace(old, new)) != digest(CODE)) == counts


def test_functions_are_named_by_their_code():
    def one(x):
        """The number after x."""
        return x + 1

    def other(x):
        """The number that follows x."""
        return x + 1

    def third(x):
        """The number after x."""
        return x + 2

    for function in (other, third):
        function.__code__ = function.__code__.replace(co_name="one")
    assert sources.digest_of_function(one) == sources.digest_of_function(other)
    assert sources.digest_of_function(one) != sources.digest_of_function(third)


def test_names_and_order_of_files_count():
    one, other = ("a.py", CODE), ("b.py", b"X = 1")
    digests = [[one, other], [other, one], [("c.py", CODE), other], [one]]
    assert len(set(map(sources.digest_of_code, digests))) == 4


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """A folder for shipped code in which there is none, and an empty cache."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "prebuilt"


def test_the_name_is_remembered(shipped, monkeypatch):
    text = {"a.py": CODE}
    name = sources.name_of_code(text, "0.68", shipped)
    assert name == sources.name_of_code({"a.py": CODE + b"# a comment"}, "0.68", shipped)
    monkeypatch.setattr(sources, "digest_of_code", None)  # what is remembered is not compiled again
    assert name == sources.name_of_code(text, "0.68", shipped)
    with pytest.raises(TypeError):
        sources.name_of_code(text, "0.69", shipped)


def test_it_is_shipped_with_machine_code(shipped, tmp_path, monkeypatch):
    name = sources.name_of_code({"a.py": CODE}, "0.68", shipped)
    (tmp_path / "cache" / "parkade").rename(shipped)
    monkeypatch.setattr(sources, "digest_of_code", None)
    assert name == sources.name_of_code({"a.py": CODE}, "0.68", shipped)


def test_a_damaged_memory_is_not_believed(shipped, tmp_path):
    name = sources.name_of_code({"a.py": CODE}, "0.68", shipped)
    [memory] = (tmp_path / "cache" / "parkade" / name).iterdir()
    other = memory.parent.with_name("0" * sources.DIGITS)
    other.mkdir()
    memory.rename(other / memory.name).write_bytes(b"")
    assert sources.name_of_code({"a.py": CODE}, "0.68", shipped) == name


def test_the_code_of_the_engine():
    read = sources.read(Path(jit.__file__).parents[1])
    assert "system.py" in read
    assert "compile/jit.py" in read
    assert len(jit.name_of_code()) == sources.DIGITS
