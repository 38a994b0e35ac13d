"""Trained transformers: their weights as models, and their forward passes, without PyTorch."""

from parkade.trained.load import load
from parkade.trained.model import Trained
from parkade.trained.packages import catalogue, fetch
from parkade.trained.reading import Reading

__all__ = ["Reading", "Trained", "catalogue", "fetch", "load"]


def __dir__() -> list[str]:
    return __all__
