"""Models of the Hugging Face hub, by the library `huggingface_hub`."""

from __future__ import annotations

from pathlib import Path

from parkade.base import check
from parkade.base.errors import InputError

_SETTINGS = ("config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt")
_WEIGHTS = ("*.safetensors", "*.safetensors.index.json")
_OLD = ("pytorch_model*.bin", "pytorch_model.bin.index.json")


def find(name: str, known: tuple[str, ...], revision: str | None = None) -> Path:
    """The folder of a model of the hub, which is downloaded once; None is its main revision."""
    owner, _, repository = name.partition("/")
    if not owner or not repository or "/" in repository:
        listed = ", ".join(known)
        raise InputError(
            f"there is no file or folder {name}, and no model of this name in the catalogue "
            f"({listed}); names on the Hugging Face hub are like EleutherAI/pythia-70m"
        )
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise InputError(
            f"there is no folder {name}; to get it from the Hugging Face hub, pip install "
            "huggingface_hub, or download it yourself and give the folder"
        ) from None
    try:
        folder = Path(
            snapshot_download(name, revision=revision, allow_patterns=[*_SETTINGS, *_WEIGHTS])
        )
        if not list(folder.glob("*.safetensors")):
            folder = Path(
                snapshot_download(name, revision=revision, allow_patterns=[*_SETTINGS, *_OLD])
            )
    except Exception as error:  # no network, no such model, no permission: of many types
        raise InputError(
            f"there is no folder {name}, and the Hugging Face hub did not give it: "
            f"{check.reason(error)}"
        ) from None
    return folder
