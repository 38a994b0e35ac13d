"""Checkpoints of a model: subfolders, or revisions as the Hugging Face hub and its cache have them.

A folder of checkpoints has one subfolder with a config.json for each, such as `checkpoint-500`. The
cache of the hub has a folder `models--owner--name` for each model: in `refs` a file for each named
revision, which has the name of a folder in `snapshots`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from parkade.base import check, files
from parkade.base.errors import InputError
from parkade.trained import hub
from parkade.trained.packages import catalogue

ALL = "all"
"""The revision that stands for all of them."""


@dataclass(frozen=True)
class Checkpoint:
    """A model to load.

    Attributes
    ----------
    name : str
        How it is called in a report; empty for the name that it has.
    place : str
        What `parkade.trained.load` takes.
    """

    name: str
    place: str


def checkpoints(place: str, revisions: Sequence[str] = ()) -> list[Checkpoint]:
    """The checkpoints of a model with these revisions; the model itself without any.

    Parameters
    ----------
    place : str
        A folder of checkpoints, a folder of the hub's cache, or anything that `load` takes.
    revisions : sequence of str
        Names of subfolders, of revisions or of snapshots, or "all".

    Examples
    --------
    >>> from parkade.trained.revisions import checkpoints
    >>> checkpoints("stories15M")
    [Checkpoint(name='', place='stories15M')]
    """
    folder = Path(place)
    if not _is_dir(folder):
        return _of_hub(place, revisions)
    stored = _revisions(folder)
    if not revisions:
        if (folder / "config.json").is_file() or not stored:
            return [Checkpoint("", place)]
        if (folder / "snapshots").is_dir():
            main = _choose(folder, stored, "main") if "main" in stored else None
            if main or len(stored) == 1:
                return [main or _choose(folder, stored, next(iter(stored)))]
        raise InputError(
            f"there is no config.json in {folder}, which has the checkpoints {_listed(stored)}; "
            "choose with --revision, which may be repeated, or --revision all"
        )
    chosen = list(stored) if list(revisions) == [ALL] else list(dict.fromkeys(revisions))
    if not chosen:
        raise InputError(f"there are no checkpoints in {folder}; give a folder that has some")
    return [_choose(folder, stored, one) for one in chosen]


def _of_hub(place: str, revisions: Sequence[str]) -> list[Checkpoint]:
    """A model by its name, or a file."""
    if not revisions:
        return [Checkpoint("", place)]
    if place in catalogue() or not re.fullmatch(r"[\w.-]+/[\w.-]+", place) or Path(place).exists():
        raise InputError(
            f"{place} has no revisions; --revision is for folders of checkpoints and for models of "
            "the Hugging Face hub"
        )
    if ALL in revisions:
        raise InputError("--revision all is for folders; name the revisions of a model of the hub")
    short = place.partition("/")[2]
    known = tuple(catalogue())
    return [Checkpoint(f"{short}@{one}", str(hub.find(place, known, one))) for one in revisions]


def _revisions(folder: Path) -> dict[str, Path]:
    """The folders of a model's checkpoints by their names, in the order of numbers in them."""
    snapshots = folder / "snapshots"
    if snapshots.is_dir():
        there = {path.name: path for path in snapshots.iterdir() if _is_model(path)}
        named = {}
        for ref in (folder / "refs").rglob("*"):
            if ref.is_file():
                with files.reading(ref, "the name of a snapshot"):
                    target = ref.read_text(encoding="utf-8").strip()
                if target in there:
                    named[ref.relative_to(folder / "refs").as_posix()] = there[target]
        unnamed = {name: path for name, path in there.items() if path not in named.values()}
        stored = named | unnamed
    else:
        stored = {path.name: path for path in folder.iterdir() if _is_model(path)}
    return dict(sorted(stored.items(), key=lambda item: _by_number(item[0])))


def _choose(folder: Path, stored: dict[str, Path], revision: str) -> Checkpoint:
    """The checkpoint with this name; a snapshot also by the begin of its name."""
    base = folder.resolve().name
    name = base.rpartition("--")[2] if (folder / "snapshots").is_dir() else base
    path = stored.get(revision)
    snapshots = folder / "snapshots"
    if path is None and snapshots.is_dir() and len(revision) >= 6:
        fits = [one for one in snapshots.iterdir() if one.name.startswith(revision)]
        path = fits[0] if len(fits) == 1 and _is_model(fits[0]) else None
    if path is None:
        raise InputError(
            f"{folder} has no checkpoint {check.brief(revision)}; it has "
            f"{_listed(stored) if stored else 'none'}"
        )
    short = revision[:8] if re.fullmatch(r"[0-9a-f]{40}", revision) else revision
    return Checkpoint(f"{name}@{short}", str(path))


def _is_dir(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):  # a name that no folder can have
        return False


def _is_model(path: Path) -> bool:
    return path.is_dir() and (path / "config.json").is_file()


def _by_number(name: str) -> list[tuple[int, str]]:
    """A key that sorts step2 before step10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def _listed(stored: dict[str, Path]) -> str:
    names = list(stored)
    return ", ".join(names if len(names) <= 8 else [*names[:4], "…", *names[-3:]])
