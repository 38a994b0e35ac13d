"""Parts of the builder of engines for pages that run as Python, too: packaging/wasm."""

from __future__ import annotations

import functools
import gzip
import importlib
import json
import os
import shutil
import sys

import numpy as np
import pytest
from support.builder import BUILDER, leaves

import parkade as pk
from parkade.engine.rest.looks import FEWEST
from parkade.engine.rest.rest_state import Known, new_state
from parkade.engine.steps.methods import METHODS
from parkade.engine.system import LOG2E


@pytest.fixture
def part(monkeypatch):
    """Gives modules of the builder, whose functions are not compiled."""
    monkeypatch.syspath_prepend(str(BUILDER))

    def load(name):
        monkeypatch.delitem(sys.modules, name, raising=False)
        module = importlib.import_module(name)
        for key, value in vars(module).items():
            if hasattr(value, "py_func"):
                monkeypatch.setattr(module, key, value.py_func)
        return module

    return load


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("n", [1, 2, 17, 40])
def test_room_is_that_of_the_engine(n, d, part, monkeypatch):
    room = part("runs.room")
    for name, dtype in {"floats": float, "integers": np.int64, "flags": bool}.items():
        monkeypatch.setattr(room, name, functools.partial(np.zeros, dtype=dtype))
    for (method, kind), make in room.ROOM.items():
        made = make.py_func(n, d)
        expected = METHODS[method].workspace(n, d, causal=kind != "full", stores=kind != "harmonic")
        assert type(made) is type(expected)
        for ours, theirs in zip(leaves(made), leaves(expected), strict=True):
            if theirs is None:
                assert ours is None
            else:
                assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        np.testing.assert_array_equal(made.clock, expected.clock)
        if method == "implicit":
            np.testing.assert_array_equal(made.lin.offsets, expected.lin.offsets)


@pytest.mark.parametrize("n", [9, 10])
@pytest.mark.parametrize("d", [2, 3])
def test_resting_begins_as_in_the_engine(d, n, part, monkeypatch):
    resting, x = part("runs.resting"), pk.sphere.uniform(n, d, seed=1)
    for name, dtype in {"floats": float, "integers": np.int64, "flags": bool}.items():
        monkeypatch.setattr(resting, name, functools.partial(np.zeros, dtype=dtype))
    work = METHODS["implicit"].workspace(n, d, causal=True)
    known = Known(work.growth, work.place, work.watch)
    made, chosen = resting.rest_run(x, known, 4 * LOG2E * np.eye(d), True)
    expected = new_state(x, known, 4.0)
    assert chosen.tolist() == [n >= FEWEST, 0]
    for ours, theirs in zip(leaves(made), leaves(expected), strict=True):
        np.testing.assert_array_equal(ours, theirs)
        assert np.asarray(ours).dtype == np.asarray(theirs).dtype


RNG = np.random.default_rng(1)
HALF = RNG.normal(size=(8, 4))
MATRICES = {
    "one": RNG.normal(size=(1, 1)),
    "two": RNG.normal(size=(2, 2)),
    "three": RNG.normal(size=(3, 3)),
    "ten": RNG.normal(size=(10, 10)),
    "diagonal": np.diag([3.0, -2.0, 1e-9]),
    "zero": np.zeros((4, 4)),
    "all of the same size": np.roll(np.eye(6), 1, axis=0),
    "a rotation": np.array([[0.0, 1.0], [-1.0, 0.0]]),
    "graded": np.diag([1e100, 1.0, 1e-100]) + 1e-3,
    "half of them zero": HALF @ HALF.T,
}


@pytest.mark.parametrize("name", MATRICES)
def test_eigenvalues_are_those_of_lapack(name, part):
    find, matrix = part("numerics.eigenvalues").eigenvalues, MATRICES[name]
    result = np.empty(len(matrix), dtype=complex)
    assert find(matrix.astype(complex), result) == 0
    expected = np.linalg.eigvals(matrix)
    left = list(result)
    for value in expected:  # each of ours is near one of theirs, and no two near the same
        nearest = min(left, key=lambda other: abs(other - value))
        assert abs(nearest - value) <= 1e-12 * max(1e-300, np.abs(expected).max())
        left.remove(nearest)


def test_the_engines_are_those_of_the_source(part):
    """After an edit of the engine, `make wasm` builds them again."""
    build = part("build")
    record = json.loads((build.ENGINES / build.RECORD).read_text())
    assert record["tools"] == build.TOOLS
    assert list(record["engines"]) == list(build.NAMES)
    for name, digests in record["engines"].items():
        module = (build.ENGINES / f"{name}.wasm").read_bytes()
        assert build.sha(module) == digests["wasm"]
        assert len(gzip.compress(module, 9)) <= build.LARGEST
    if build.other_tools("python"):
        pytest.skip(f"digests of sources are those of Python {build.TOOLS['python']}")
    assert record["sources"] == build.digest_of_sources(), "the source has changed: run make wasm"


@pytest.mark.parametrize(
    ("file", "line", "changes"),
    [
        ("src/parkade/engine/vectors.py", "# a comment", False),
        ("src/parkade/solve/planning/sums.py", "# a comment", False),
        ("packaging/wasm/slots.py", "# a comment", False),
        ("src/parkade/engine/vectors.py", "_ONE = 1", True),
        ("src/parkade/solve/planning/sums.py", "_ONE = 1", True),
        ("packaging/wasm/slots.py", "_ONE = 1", True),
        ("packaging/wasm/runtime.c", "int one = 1;", True),
    ],
)
def test_the_digest_sees_code_only(part, tmp_path, monkeypatch, file, line, changes):
    build = part("build")
    before = build.digest_of_sources()
    for folder in ("src/parkade", "packaging/wasm"):
        skipped = shutil.ignore_patterns("__pycache__", "page", "engines")
        shutil.copytree(build.ROOT / folder, tmp_path / folder, ignore=skipped)
    monkeypatch.setattr(build, "ROOT", tmp_path)
    monkeypatch.setattr(build, "HERE", tmp_path / "packaging" / "wasm")
    assert build.digest_of_sources() == before
    with (tmp_path / file).open("a") as source:
        source.write(f"\n{line}\n")
    assert (build.digest_of_sources() != before) == changes


@pytest.mark.skipif("PARKADE_PARITY" not in os.environ, reason="make parity compiles one anew")
def test_the_same_source_gives_the_same_bits(part):
    """One of the engines, up to the linker; `packaging/wasm/build.py --check` does all of it."""
    build = part("build")
    others = build.other_tools("python", "numba", "llvmlite")
    if others:
        pytest.skip(f"other tools than those of the engines: {', '.join(others)}")
    record = json.loads((build.ENGINES / build.RECORD).read_text())
    compiled, _ = build.compile_engine("explicit2")
    assert build.sha(compiled) == record["engines"]["explicit2"]["object"]
