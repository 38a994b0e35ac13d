"""Campaign: damaged cache files are detected before they are unpickled, and repaired."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from support.damage import DAMAGES, flip

from parkade.engine.compile import cache, jit

CASES = int(os.environ.get("PARKADE_FUZZ", "60"))


def inside(kind):
    """Damage of this kind to the bytes of the first file."""

    def damage(rng, path, other):
        data = bytearray(path.read_bytes())
        kind(data, rng)
        path.write_bytes(data)

    damage.__name__ = kind.__name__
    return damage


def empty(rng, path, other):
    os.truncate(path, 0)


def delete(rng, path, other):
    path.unlink()


def swap(rng, path, other):
    path.rename(path.with_suffix(".away"))
    other.rename(path)
    path.with_suffix(".away").rename(other)


def copy(rng, path, other):
    shutil.copy(other, path)


def replace_by_directory(rng, path, other):
    path.unlink()
    path.mkdir()
    (path / "within").touch()


def dangling_link(rng, path, other):
    path.unlink()
    path.symlink_to("nowhere")


KINDS = (
    *map(inside, [*DAMAGES, flip, flip]), empty, delete, swap, copy, replace_by_directory,
    dangling_link,
)  # fmt: skip


def case(number):
    """Random numbers and a kind of damage, most often a flip."""
    return np.random.default_rng((5, number)), KINDS[number % len(KINDS)]


def test_damage_is_found(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    for number in range(10 * CASES):
        rng, damage = case(number)
        contents = {path: rng.bytes(rng.integers(1, 2000)) for path in (first, second)}
        for path, content in contents.items():
            cache.write(path, content)
        before = first.read_bytes()
        damage(rng, first, second)
        same = first.is_file() and first.read_bytes() == before  # zeros over zeros
        payload = cache.read(first)
        assert payload == (before[32:] if same else None), (number, damage)
        cache.write(first, contents[first])
        assert cache.read(first) == contents[first], (number, damage)


def cube(x):
    return x * x * x


def test_functions_are_compiled_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(jit, "private_directory", lambda: tmp_path)
    monkeypatch.setattr(jit, "_given_up", [])

    def call():
        function = jit.njit()(cube)
        assert (function(3), function(0.5)) == (27, 0.125), (number, damage)
        return sum(function.stats.cache_hits.values())

    for number in range(CASES // 4):
        rng, damage = case(number)
        if number == 0:
            assert call() == 0
        paths = [tmp_path / name for name in sorted(os.listdir(tmp_path))]
        assert len(paths) == 2
        before = paths[0].read_bytes()
        damage(rng, *paths)
        same = paths[0].is_file() and paths[0].read_bytes() == before
        assert call() == (2 if same else 0 if damage is swap else 1), (number, damage)
        assert call() == 2, (number, damage)
        assert not jit._given_up


SCRIPT = """
import numpy as np
from parkade.engine import vectors
tokens = np.arange(1.0, 16.0).reshape(5, 3)
vectors.normalize(tokens)
print(tokens.tobytes().hex(), vectors.scalar(2.0 * np.eye(3)))
"""


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """A cache, and the output of a process that uses it."""
    directory = tmp_path_factory.mktemp("warm")
    return directory, run(directory)


def run(directory):
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=os.environ | {"NUMBA_CACHE_DIR": str(directory)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr
    return result.stdout


@pytest.mark.parametrize("number", range(max(1, CASES // 100)))
def test_processes_give_the_same_bits(warm, tmp_path, number):
    rng, damage = case(7 * number)
    directory, said = warm
    shutil.copytree(directory, tmp_path, dirs_exist_ok=True)
    files = sorted(tmp_path.rglob("*.nbc"), reverse=True)
    names = [path.name.partition("-")[0] for path in files]
    assert names == ["vectors.scalar", "vectors.normalize"]
    damage(rng, *files)
    if damage is not swap:
        damage(rng, *reversed(files))
    assert run(tmp_path) == said, (number, damage)
    assert all(cache.read(path) is not None for path in files), (number, damage)
    before = [path.stat().st_mtime_ns for path in files]
    assert run(tmp_path) == said, (number, damage)
    assert before == [path.stat().st_mtime_ns for path in files], (number, damage)
