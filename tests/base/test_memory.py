"""How much memory is left: of the machine, and of control groups of both versions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from parkade.base import check, memory


@pytest.fixture(autouse=True)
def forget():
    """Control groups are looked for once per process: here, once per test."""
    memory._groups.cache_clear()
    yield
    memory._groups.cache_clear()


def test_it_is_a_plausible_number_of_bytes():
    assert memory.available_memory() > 2**20


def test_unknown_memory_never_refuses(monkeypatch):
    def unreadable(*args, **kwargs):
        raise OSError

    monkeypatch.setattr("pathlib.Path.read_text", unreadable)
    assert memory.available_memory() == np.inf
    check.fits_in_memory(1e30, "anything", "nothing")


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A function that makes the files of a machine with 1 GB, by their paths."""
    read = Path.read_text

    def redirected(path, **options):
        inside = path if path.is_relative_to(tmp_path) else tmp_path / str(path).lstrip("/")
        return read(inside, **options)

    monkeypatch.setattr(memory, "_MOUNTS", tmp_path / "sys")
    monkeypatch.setattr(Path, "read_text", redirected)

    def write(files):
        entries = {"proc/meminfo": "MemTotal: 2000000 kB\nMemAvailable: 1000000 kB\n"} | files
        for name, text in entries.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)

    return write


def group(folder, limit, used, cached, version):
    """The files of a control group."""
    names = ("max", "current", "inactive_file") if version == 2 else (
        "limit_in_bytes", "usage_in_bytes", "total_inactive_file"
    )  # fmt: skip
    return {
        f"{folder}/memory.{names[0]}": f"{limit}\n",
        f"{folder}/memory.{names[1]}": f"{used}\n",
        f"{folder}/memory.stat": f"anon 1\n{names[2]} {cached}\nother 5\n",
    }


def test_without_groups(machine):
    machine({})
    assert memory.available_memory() == 1.024e9


@pytest.mark.parametrize(
    ("root", "line", "version"),
    [("sys", "0::/a/b", 2), ("sys/unified", "0::/a/b", 2), ("sys/memory", "4:memory,x:/a/b", 1)],
)
def test_the_tightest_group_counts(machine, root, line, version):
    lines = {"proc/self/cgroup": f"9:cpu:/c\n{line}\n"}
    inner = group(f"{root}/a/b", 5 * 10**8, 3 * 10**8, 10**7, version)
    machine(lines | inner)
    assert memory.available_memory() == 2.1e8
    machine(group(f"{root}/a", 4 * 10**8, 4 * 10**8, 10**6, version))
    memory._groups.cache_clear()
    assert memory.available_memory() == 1e6


def test_groups_without_a_limit(machine):
    lines = {"proc/self/cgroup": "4:memory:/a\n0::/\n"}
    first = group("sys/memory/a", 9223372036854771712, 5, 5, 1)
    machine(lines | first | group("sys", "max", 5, 5, 2))
    assert memory.available_memory() == 1.024e9


def test_the_group_of_a_container_is_mounted_as_the_root(machine):
    lines = {"proc/self/cgroup": "4:memory:/docker/1234\n"}
    machine(lines | group("sys/memory", 10**8, 10**8 + 5, 0, 1))
    assert memory.available_memory() == 0
