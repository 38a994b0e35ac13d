"""Files are complete or absent, and nothing is left behind: kills, full disks, odd names."""

from __future__ import annotations

import errno
import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import commands

import parkade as pk
from parkade.base import files

WRITE = """
import sys, time
from parkade.base.files import atomic_write
with atomic_write(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def begin(target: Path, seconds: float) -> subprocess.Popen[str]:
    """Start a process that is in the middle of writing."""
    command = [sys.executable, "-c", WRITE, str(target), str(seconds)]
    writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    assert writer.stdout.readline() == "writing\n"
    return writer


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def end(writer: subprocess.Popen[str]) -> None:
    writer.kill()
    writer.communicate()


def test_what_a_killed_process_left_is_swept_up_by_the_next(tmp_path):
    dead, alive = begin(tmp_path / "a.txt", 60), begin(tmp_path / "a.txt", 60)
    try:
        end(dead)
        assert len(names(tmp_path)) == 2
        with begin(tmp_path / "a.txt", 0) as third:
            third.communicate()
        left = names(tmp_path)
        assert len(left) == 2
        assert f"-{alive.pid}-" in left[0]  # the live one keeps writing
        assert left[1] == "a.txt"
    finally:
        end(alive)
    files.sweep(tmp_path)
    assert names(tmp_path) == ["a.txt"]


def test_another_machine_is_given_a_day(tmp_path):
    young, old = (tmp_path / f".a.txt.parkade-0000000{i}-1-abcdef01" for i in (0, 1))
    own = tmp_path / ".a.txt.abcdef01"
    for path in (young, old, own):
        path.touch()
    for path in (old, own):
        os.utime(path, (time.time() - 90000,) * 2)
    files.sweep(tmp_path)
    assert names(tmp_path) == [own.name, young.name]


@pytest.mark.parametrize("links", [True, False])
def test_a_new_file_takes_the_place_of_none(tmp_path, monkeypatch, links):
    def refuse(*_):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    if not links:
        monkeypatch.setattr(os, "link", refuse)
    target = tmp_path / "a.txt"
    with files.atomic_write(target, new=True) as file:
        file.write(b"first")
    with (
        pytest.raises(FileExistsError, match=re.escape(str(target))),
        files.atomic_write(target, new=True) as file,
    ):
        file.write(b"second")
    assert target.read_bytes() == b"first"
    assert names(tmp_path) == ["a.txt"]


def test_long_names_leave_room_for_the_temporary_one(tmp_path):
    with files.atomic_write(tmp_path / ("β" * 120 + ".txt")) as file:
        file.write(b"whole")
    assert len(names(tmp_path)) == 1


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "x" * 300])
def test_names_that_no_file_can_have(tmp_path, name):
    with pytest.raises(pk.InputError, match="cannot write"):
        files.writable(tmp_path / name)
    with pytest.raises(pk.InputError, match="cannot make the directory"):
        files.directory(tmp_path / name)


@pytest.mark.parametrize("arguments", [
    "simulate --n 40 --t-end 1 -o run.npz",
    "simulate --n 5 --t-end 1 --plot run.png",
    "simulate --n 5 --t-end 1 --plot run.svg",
    "export kept.npz -o page.html",
    "sweep small.toml",
    "reproduce fig2 --quick -o figures",
])  # fmt: skip
def test_a_full_disk_names_the_file(here, monkeypatch, arguments):
    # A limit on file size stands in for a full disk: another errno, the same code path.
    pk.simulate(pk.Attention(d=3), pk.sphere.uniform(9, 3, seed=0), 1.0).save("kept.npz")
    Path("small.toml").write_text('d = 2\nn = 200\nruns = 2\nt_end = 1\nmeasure = "trajectory"\n')
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # half of it would stay
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        done = commands.invoke(*arguments.split())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    lines = [line for line in done.stderr.splitlines() if "compil" not in line]
    assert (done.exit_code, len(lines)) == (2, 1), done.stderr
    assert "File too large" in lines[0]
    assert any(name in lines[0] for name in ("run.", "page.html", "small/", "figures/")), lines
    left = [path for path in here.rglob("*") if path.is_file() and path.stat().st_size > 999]
    assert [path.name for path in left] == ["kept.npz"]
    assert not list(here.rglob(".*"))
