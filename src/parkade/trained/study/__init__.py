"""Everything that is measured on one trained model, over texts: the data of a report."""

from parkade.trained.study.ablations import ABLATIONS, ablate
from parkade.trained.study.iterations import Iterated, iterations
from parkade.trained.study.read import survey
from parkade.trained.study.survey import Survey

__all__ = ["ABLATIONS", "Iterated", "Survey", "ablate", "iterations", "survey"]
