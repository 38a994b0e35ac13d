"""Folders of Hugging Face's: config.json, weights in one file or several, and a tokenizer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from parkade.base import files
from parkade.base.errors import InputError
from parkade.trained import tokens
from parkade.trained.formats import safetensors, torch
from parkade.trained.formats.source import Source, Stored

_READERS = {".safetensors": safetensors.read, ".bin": torch.read}
_WHOLE = ("model.safetensors", "pytorch_model.bin")


def read(folder: Path) -> Source:
    """The contents of a folder; no tensor is read yet."""
    settings = folder / "config.json"
    if not settings.is_file():
        raise InputError(f"there is no config.json in {folder}; give the folder of one model")
    with files.reading(settings, "settings in JSON"):
        config = json.loads(settings.read_text(encoding="utf-8"))
        if not isinstance(config, dict):
            raise ValueError("it is not an object")
    return Source(folder.resolve().name, config, _tensors(folder), tokens.of_folder(folder))


def _tensors(folder: Path) -> dict[str, Stored]:
    for name in _WHOLE:
        if (folder / name).is_file():
            return weights(folder / name)
    for name in _WHOLE:
        index = folder / f"{name}.index.json"
        if index.is_file():
            return _shards(index)
    raise InputError(
        f"there are no weights in {folder}: neither {_WHOLE[0]} nor {_WHOLE[1]}, nor an index of "
        "several such files"
    )


def _shards(index: Path) -> dict[str, Stored]:
    with files.reading(index, "an index of weights in JSON"):
        places: dict[str, Any] = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
        names = sorted(set(places.values()))
        if any(not isinstance(name, str) or Path(name).name != name for name in names):
            raise ValueError("it names files outside its folder")
    tensors: dict[str, Stored] = {}
    for name in names:
        tensors |= weights(index.with_name(name))
    return tensors


def weights(path: Path) -> dict[str, Stored]:
    """The tensors of one file, by name."""
    reader = _READERS.get(path.suffix)
    if reader is None:
        known = ", ".join(_READERS)
        raise InputError(f"{path} has an unknown kind of weights; known are {known}")
    with files.reading(path, "a file of weights"):
        return reader(path)
