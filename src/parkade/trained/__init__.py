"""Trained transformers: their weights as models, and their forward passes, without PyTorch."""

from parkade.trained.load import load
from parkade.trained.model import Trained
from parkade.trained.packages import catalogue, fetch
from parkade.trained.reading import Reading
from parkade.trained.states.measure import measure
from parkade.trained.study.survey import Survey

__all__ = ["Reading", "Survey", "Trained", "catalogue", "fetch", "load", "measure"]


def __dir__() -> list[str]:
    return __all__
