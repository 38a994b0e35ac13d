"""`load`: a trained transformer from a file, a folder, or by its name."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from parkade.base import check, files
from parkade.base.errors import InputError
from parkade.trained import packages
from parkade.trained.families.common import unread
from parkade.trained.families.common.settings import ModelSettings
from parkade.trained.families.common.take import Take
from parkade.trained.families.registry import family_of
from parkade.trained.formats import folder, gguf, llama2c
from parkade.trained.formats.source import Source
from parkade.trained.model import Trained


def load(
    path: str | os.PathLike[str], *, dtype: str = "float32", download: bool = False
) -> Trained:
    """Load a trained transformer, without PyTorch.

    It is read exactly, or refused with a sentence that names what is unknown.

    Parameters
    ----------
    path : str or path
        A folder of Hugging Face's (config.json, weights in .safetensors or pytorch_model.bin), a
        file .gguf, a file of llama2.c, or a name: of the catalogue (`parkade.trained.catalogue`),
        or of the Hugging Face hub, such as "EleutherAI/pythia-70m".
    dtype : "float32" or "float64"
        The type of the weights and of all numbers in the forward pass.
    download : bool
        Whether to `fetch` a model of the catalogue that is not on this machine yet.

    Returns
    -------
    Trained
        Weights are read when they are first needed.

    Examples
    --------
    >>> import parkade as pk
    >>> model = pk.trained.load("ALBERT-rxn", download=True)
    >>> model
    Trained('ALBERT-rxn': albert, encoder, 12 layers of 8 heads, d=256)
    >>> reading = model.read("CCO.CC(=O)O>>CC(=O)OCC")
    >>> reading
    Reading(23 tokens by ALBERT-rxn, 12 layers)
    """
    kind = np.dtype(check.choice("dtype", dtype, ("float32", "float64")))
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"path must be a path or a name, got {check.brief(path)}")
    place = Path(path)
    name = None
    if not _exists(place):
        place, name = packages.find(str(path), download), str(path)
    source = open_source(place)
    return from_source(source, kind, name or source.name)


def _exists(place: Path) -> bool:
    try:
        return place.exists()
    except (OSError, ValueError):  # a name that no file can have
        return False


def open_source(place: Path) -> Source:
    """Open a file or a folder of weights, of any known format."""
    if place.is_dir():
        return folder.read(place)
    with files.reading(place, "a file of weights"), place.open("rb") as file:
        start = file.read(64)
        size = os.fstat(file.fileno()).st_size
    if start[:4] == b"GGUF":
        with files.reading(place, "a GGUF file"):
            return gguf.read(place)
    if place.name.endswith((".safetensors", "pytorch_model.bin")) or start[:2] == b"PK":
        return folder.read(place.parent)
    if llama2c.is_one(start, size):
        with files.reading(place, "a file of llama2.c"):
            return llama2c.read(place, start)
    raise InputError(
        f"{place} has no known format, or it is truncated; known are folders of Hugging Face's "
        "with a config.json, files .gguf and files of llama2.c"
    )


def from_source(source: Source, dtype: np.dtype[np.floating], name: str) -> Trained:
    """The model in a source; all its settings, and names and shapes of all tensors, are checked."""
    family, assumed = family_of(source.config)
    settings = ModelSettings({**assumed, **source.config})
    unread.check_quantization(settings)
    shape = family.shape(settings)
    if shape.causal:
        settings.only("is_causal", True, "a model in which tokens see earlier ones")
    take = Take(source.tensors, dtype, family.prefix)
    dry = Take(source.tensors, dtype, family.prefix, dry=True)
    family.ends(dry, settings, shape)
    for i in range(shape.distinct or shape.layers):
        family.block(dry, settings, shape, i)
    unread.check_settings(settings, source.config["model_type"])
    unread.check_tensors(dry, source.config["model_type"])
    return Trained(
        name,
        shape,
        dtype,
        lambda i: family.block(take, settings, shape, i),
        lambda: family.ends(take, settings, shape),
        source.tokenizer,
    )
