"""Theoretical predictions: final configurations, centres, guarantees and energies.

Imports `engine`, `model` and `base`; nothing here simulates.

From Karagodin, Polyanskiy, Rigollet, *Clustering in Causal Attention Masking*, NeurIPS 2024
(arXiv 2411.04990).
"""

from parkade.theory import lemmas
from parkade.theory.caps import (
    Estimate,
    cap_fraction,
    effective_exponent,
    expected_strong_centers,
    expected_strong_centers_of_sample,
)
from parkade.theory.cars import CARS_CONSTANT, growing_cars
from parkade.theory.conditions import Condition
from parkade.theory.control import schedule
from parkade.theory.energy import sequential_energies
from parkade.theory.final import FinalConfiguration, final_configuration
from parkade.theory.first_token import first_token
from parkade.theory.forecast import forecast
from parkade.theory.guarantees import (
    CaptureWindow,
    StrongCenters,
    capture_window,
    strong_center_guarantee,
)
from parkade.theory.meeting import log_meeting_time
from parkade.theory.renyi import PARKING_CONSTANT, expected_renyi_centers, parking_function

__all__ = [
    "CARS_CONSTANT",
    "PARKING_CONSTANT",
    "CaptureWindow",
    "Condition",
    "Estimate",
    "FinalConfiguration",
    "StrongCenters",
    "cap_fraction",
    "capture_window",
    "effective_exponent",
    "expected_renyi_centers",
    "expected_strong_centers",
    "expected_strong_centers_of_sample",
    "final_configuration",
    "first_token",
    "forecast",
    "growing_cars",
    "lemmas",
    "log_meeting_time",
    "parking_function",
    "schedule",
    "sequential_energies",
    "strong_center_guarantee",
]


def __dir__() -> list[str]:
    return __all__
