"""The cache of machine code: where it lies, what it takes and what it refuses."""

from __future__ import annotations

import os
import shutil
import tempfile
import time

import pytest

from parkade.engine.compile import cache


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Directories of our own in all places where a cache is looked for."""
    roots = [tmp_path / name for name in ("chosen", "xdg", "home", "tmp")]
    for root in roots:
        root.mkdir()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(roots[0]))
    monkeypatch.setenv("XDG_CACHE_HOME", str(roots[1]))
    monkeypatch.setenv("HOME", str(roots[2]))
    monkeypatch.setattr(tempfile, "tempdir", str(roots[3]))
    user = os.geteuid()
    return [
        roots[0] / "parkade",
        roots[1] / "parkade",
        roots[2] / ".cache" / "parkade",
        roots[3] / f"parkade-{user}",
    ]


def group_writes(path):
    path.mkdir()
    path.chmod(0o770)


def all_write(path):
    path.mkdir()
    path.chmod(0o1777)


def link(path):
    (path.parent / "elsewhere").mkdir(mode=0o700)
    path.symlink_to(path.parent / "elsewhere")


def file(path):
    path.touch()


class TestDirectory:
    def test_it_is_private(self, places):
        chosen = cache.private_directory("x")
        assert chosen == places[0] / "x"
        assert [path.stat().st_mode & 0o777 for path in (chosen, chosen.parent)] == [0o700] * 2

    def test_the_places_come_in_order(self, places):
        assert list(cache.places()) == places
        for place in places:
            assert cache.private_directory("x") == place / "x"
            shutil.rmtree(place)
            file(place)
        assert cache.private_directory("x") is None

    @pytest.mark.parametrize("spoil", [group_writes, all_write, link, file])
    @pytest.mark.parametrize("inner", [False, True])
    def test_what_others_can_write_is_refused(self, places, spoil, inner):
        if inner:
            places[0].mkdir(mode=0o700)
        spoil(places[0] / "x" if inner else places[0])
        assert cache.private_directory("x") == places[1] / "x"

    def test_what_others_own_is_refused(self, places, monkeypatch):
        assert cache.private_directory("x") is not None
        for place in places:
            place.mkdir(parents=True, exist_ok=True, mode=0o700)
        user = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: user + 1)
        assert cache.private_directory("x") is None

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
    def test_a_directory_given_away_is_refused(self, places):
        places[0].mkdir(mode=0o700)
        os.chown(places[0], 12345, -1)
        assert cache.private_directory("x") == places[1] / "x"

    def test_there_may_be_no_place_at_all(self, places, monkeypatch):
        monkeypatch.setenv("NUMBA_CACHE_DIR", "/proc/no/such/place")
        monkeypatch.setenv("XDG_CACHE_HOME", "~nobody-of-this-name/cache")
        monkeypatch.setenv("HOME", "/proc/no/home")
        monkeypatch.setattr(tempfile, "tempdir", "/proc/no/temporary/directory")
        assert cache.private_directory("x") is None


class TestFile:
    def test_what_is_written_can_be_read(self, tmp_path):
        for payload in (b"", b"1", bytes(range(256)) * 100):
            cache.write(tmp_path / "a", payload)
            assert cache.read(tmp_path / "a") == payload
        assert os.listdir(tmp_path) == ["a"]

    def test_nobody_else_could_have_written_it(self, tmp_path):
        path = tmp_path / "a"
        cache.write(path, b"1")
        assert path.stat().st_mode & 0o777 == 0o600
        path.chmod(0o620)
        assert cache.read(path) is None

    def test_another_name_is_another_file(self, tmp_path):
        cache.write(tmp_path / "a", b"1")
        (tmp_path / "a").rename(tmp_path / "b")
        assert cache.read(tmp_path / "b") is None

    def test_it_takes_the_place_of_anything(self, tmp_path):
        path = tmp_path / "a"
        (path / "within").mkdir(parents=True)
        assert cache.read(path) is None
        cache.write(path, b"1")
        assert cache.read(path) == b"1"

    def test_what_cannot_be_written_leaves_nothing(self, tmp_path, monkeypatch):
        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "replace", full)
        with pytest.raises(OSError, match="No space"):
            cache.write(tmp_path / "a", b"1")
        assert os.listdir(tmp_path) == []


DAY = 86400


def age(path, days):
    """Set the times of a file or directory back."""
    then = time.time() - days * DAY
    os.utime(path, (then, then))


class TestTidy:
    @pytest.fixture
    def other(self, places):
        """The code of other sources, which nobody has used for a month."""
        directory = cache.private_directory("0123456789abcdef")
        cache.write(directory / "f.nbc", b"1")
        age(directory / "f.nbc", 31)
        age(directory, 31)
        return directory

    @pytest.fixture
    def mine(self, other):
        return cache.private_directory("fedcba9876543210")

    def test_code_that_nobody_uses_goes(self, mine, other):
        models = mine.parent / "models"
        models.mkdir()
        age(mine, 31)
        age(models, 31)
        cache.tidy(mine)
        assert sorted(mine.parent.iterdir()) == [mine, models]

    @pytest.mark.parametrize("use", ["opened", "read", "written"])
    def test_code_in_use_stays(self, mine, other, use):
        if use == "opened":
            cache.private_directory(other.name)
        elif use == "read":
            os.utime(other / "f.nbc", (time.time(), time.time() - 31 * DAY))
        else:
            cache.write(other / "f.nbc", b"2")
        cache.tidy(mine)
        assert (other / "f.nbc").exists()

    def test_a_directory_that_is_not_ours_stays(self, mine, other):
        other.chmod(0o770)
        cache.tidy(mine)
        link = mine.parent / "00000000aaaaaaaa"
        link.symlink_to(other)
        os.utime(link, (0, 0), follow_symlinks=False)
        cache.tidy(mine)
        assert link.is_symlink()
        assert (other / "f.nbc").exists()

    def test_unfinished_files_of_yesterday_go(self, mine):
        old, young = (mine / f"f.nbc.0123456789abcde{i}" for i in (0, 1))
        for path in (old, young, mine / "f.nbc"):
            path.touch()
            age(path, 0.5 if path == young else 1.5)
        cache.tidy(mine)
        assert sorted(mine.iterdir()) == [mine / "f.nbc", young]
