"""`njit`: machine code is stored for later processes, or compiled again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import parkade
from parkade.engine.compile import cache, jit

SCRIPT = """
import resource, sys, tempfile
{before}
import numpy as np
from parkade.engine import vectors
tokens = np.arange(1.0, 16.0).reshape(5, 3)
vectors.normalize(tokens)
print(tokens.tobytes().hex())
print(sum(vectors.normalize.stats.cache_hits.values()))
"""


def start(directory, before="", **variables):
    """A process that needs one small compiled function."""
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(before=before)],
        env=os.environ | {"NUMBA_CACHE_DIR": str(directory)} | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def outcome(process):
    """The bits that a process computed, whether it had to compile, and what it printed."""
    said, complaints = process.communicate(timeout=120)
    assert process.returncode == 0, complaints
    assert "Traceback" not in complaints
    bits, hits = said.split()
    return bits, hits == "0", complaints.splitlines()


def run(directory, before="", **variables):
    return outcome(start(directory, before, **variables))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A cache that two processes have filled at once, and their bits."""
    directory = tmp_path_factory.mktemp("made")
    first, second = map(outcome, [start(directory) for _ in range(2)])
    assert first[::2] == second[::2]  # whoever was first, perhaps the other one did not compile
    assert not first[2]
    return directory, first[0]


def no_home(folder):
    """Variables of a process whose home is a file."""
    blocked = folder / "file"
    blocked.touch()
    return {"HOME": str(blocked), "XDG_CACHE_HOME": ""}


class TestProcesses:
    def test_two_fill_one_cache_at_once(self, made, tmp_path):
        directory, bits = made
        home = no_home(tmp_path)  # which does not matter to those who have a good directory
        assert run(directory, **home) == (bits, False, [])
        assert {path.suffix for path in directory.rglob("*.*") if path.is_file()} == {
            ".nbc",
            ".sources",
        }

    @pytest.mark.parametrize(
        "before",
        [
            "sys.dont_write_bytecode = True; "  # half of it would stay
            "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))",
            "tempfile.tempdir = '/proc/nowhere'",
        ],
        ids=["full", "nowhere"],
    )
    def test_no_space_is_no_cache(self, made, tmp_path, before):
        home = no_home(tmp_path)
        blocked = Path(home["HOME"])
        chosen = tmp_path if "RLIMIT" in before else blocked
        _, expected = made
        bits, compiled, complaints = run(chosen, before, **home)
        assert bits == expected
        assert compiled
        assert len(complaints) == 1
        assert complaints[0].startswith("parkade: compiled code is not kept")
        assert "set NUMBA_CACHE_DIR" in complaints[0]
        left = [path for path in tmp_path.rglob("*") if path.is_file() and path != blocked]
        assert {path.suffix for path in left} <= {".sources"}  # a name, which takes no space

    def test_an_unknown_numba_means_no_cache(self, tmp_path):
        before = "import numba; numba.__version__ = '0.9999.0'"
        _, compiled, complaints = run(tmp_path, before)
        assert compiled
        assert len(complaints) == 1
        assert "Numba 0.9999.0" in complaints[0]
        assert not list(tmp_path.rglob("*.nbc"))


def double(x):
    return 2 * x


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.setattr(jit, "private_directory", lambda: tmp_path)
    monkeypatch.setattr(jit, "_given_up", [])
    return tmp_path


def product_and_sum(a, b, c):
    return a * b + c


class TestFunction:
    @pytest.mark.parametrize("first", ["fused", "plain"])
    def test_rounding_does_not_depend_on_who_calls_first(self, here, first):
        inner = jit.njit()(product_and_sum)
        callers = {"fused": jit.njit(fastmath=jit.FUSED), "plain": jit.njit()}
        numbers = (1.1, 1.1, -1.21)  # with one rounding instead of two: another result
        for name in sorted(callers, key=lambda name: name != first):
            assert callers[name](lambda a, b, c: inner(a, b, c))(*numbers) == 1.1 * 1.1 - 1.21

    def test_division_does_not_depend_on_who_calls_first(self, here):
        inner = jit.njit()(lambda a, b: a / b)
        assert np.isinf(jit.njit(error_model="numpy")(lambda a, b: a / b)(1.0, 0.0))
        for model in ("numpy", "python"):
            caller = jit.njit(error_model=model)(lambda a, b: inner(a, b))
            with pytest.raises(ZeroDivisionError):
                caller(1.0, 0.0)

    def test_each_signature_has_its_file(self, here):
        for hits in (0, 1):
            function = jit.njit()(double)
            assert (function(2), function(0.5)) == (4, 1.0)
            assert sum(function.stats.cache_hits.values()) == 2 * hits
            assert function.stats.cache_path == str(here)
        assert len(list(here.glob("*test_jit.double-*.nbc"))) == 2

    def test_storing_removes_what_was_left_unfinished(self, here):
        left = here / "f.nbc.0123456789abcdef"
        left.touch()
        os.utime(left, (0, 0))
        jit.njit()(double)(2)
        assert [path.suffix for path in here.iterdir()] == [".nbc"]

    def test_whole_files_of_something_else_are_compiled_again(self, here):
        jit.njit()(double)(2)
        path = next(here.iterdir())
        payload = bytes(cache.read(path))
        for other in (b"", b"no pickle", payload.replace(b"int64", b"int32")):
            cache.write(path, other)
            function = jit.njit()(double)
            assert function(2) == 4
            assert not function.stats.cache_hits
            assert cache.read(path) is not None

    def test_recompiling_forgets(self, here):
        function = jit.njit()(double)
        function(2)
        Path(here / "other-1.nbc").touch()
        function.recompile()
        assert not function.stats.cache_hits
        assert len(list(here.iterdir())) == 2


def package_with_code(folder, made):
    """A copy of the package with prebuilt machine code, as a wheel installs it."""
    package = Path(parkade.__file__).parent
    shutil.copytree(package, folder / "parkade")
    prebuilt = folder / "parkade" / "engine" / "prebuilt"
    (source,) = (made / "parkade").iterdir()
    shutil.copytree(source, prebuilt / source.name)
    return prebuilt


def spoil_nothing(prebuilt):
    """Leave the file as it is."""


def let_others_write_the_directory(prebuilt):
    prebuilt.chmod(0o777)


def let_others_write_a_file(prebuilt):
    for path in prebuilt.rglob("*.nbc"):
        path.chmod(0o666)


def put_a_link(prebuilt):
    real = prebuilt.rename(prebuilt.with_name("elsewhere"))
    prebuilt.symlink_to(real)


def give_it_away(prebuilt):
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    for path in prebuilt.rglob("*.nbc"):
        os.chown(path, 12345, -1)


def damage_a_file(prebuilt):
    for path in prebuilt.rglob("*.nbc"):
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)


def edit_a_source(prebuilt):
    with prebuilt.with_name("vectors.py").open("a") as source:
        source.write("_ANOTHER = 1\n")


def edit_a_comment(prebuilt):
    path = prebuilt.with_name("vectors.py")
    path.write_text("# another comment\n" + path.read_text())


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs owners of files")
class TestPrebuilt:
    @pytest.mark.parametrize(
        ("change", "used"),
        [(spoil_nothing, True), (edit_a_comment, True), (edit_a_source, False)],
        ids=lambda value: getattr(value, "__name__", None),
    )
    def test_a_process_uses_what_was_made_from_its_sources(self, made, tmp_path, change, used):
        directory, bits = made
        prebuilt = package_with_code(tmp_path / "site", directory)
        change(prebuilt)
        site = {"PYTHONPATH": str(tmp_path / "site")}
        assert run(tmp_path / "empty", **site) == (bits, not used, [])
        assert bool(list((tmp_path / "empty").rglob("*.nbc"))) != used  # compiled code is stored

    @pytest.mark.parametrize(
        ("change", "used"),
        [
            (spoil_nothing, True),
            (let_others_write_the_directory, False),
            (let_others_write_a_file, False),
            (put_a_link, False),
            (give_it_away, False),
            (damage_a_file, False),
        ],
        ids=lambda value: getattr(value, "__name__", None),
    )
    def test_it_is_used_if_nobody_else_could_have_written_it(self, here, monkeypatch, change, used):
        engine = here / "engine"
        prebuilt = engine / "prebuilt"
        (prebuilt / jit.name_of_code()).mkdir(mode=0o755, parents=True)
        monkeypatch.setattr(jit, "private_directory", lambda: prebuilt / jit.name_of_code())
        jit.njit()(double)(2)
        monkeypatch.setattr(jit, "private_directory", lambda: here)
        monkeypatch.setattr(jit, "_ENGINE", engine)
        monkeypatch.setattr(jit, "_prebuilt", jit._prebuilt.__wrapped__)
        change(prebuilt)
        function = jit.njit()(double)
        assert function(2) == 4
        assert bool(function.stats.cache_hits) == used
        assert bool(list(here.glob("*.nbc"))) != used  # compiled code is stored


def test_the_versions_of_numba_that_are_allowed_are_known():
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    [bound] = [one for one in project["dependencies"] if one.startswith("numba")]
    minors = [int(version.removeprefix("0.")) for version in jit.TESTED]
    assert minors == list(range(minors[0], minors[-1] + 1))
    assert bound == f"numba>=0.{minors[0]},<0.{minors[-1] + 1}"
