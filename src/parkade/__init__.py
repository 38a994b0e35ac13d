"""Parkade: why tokens cluster in transformers."""

from parkade import clusters, parking, sphere, theory
from parkade.attention import Attention
from parkade.clusters import cluster_labels, consumption
from parkade.errors import InputError, ParkadeError, TrustWarning, UnfinishedError
from parkade.flow import simulate, simulate_many
from parkade.parking import renyi_centers, strong_renyi_centers
from parkade.sweeps.ensemble import ensemble, load_ensemble
from parkade.trajectory import Trajectory, load

__version__ = "0.1.0"

__all__ = [
    "Attention",
    "InputError",
    "ParkadeError",
    "Trajectory",
    "TrustWarning",
    "UnfinishedError",
    "cluster_labels",
    "clusters",
    "consumption",
    "ensemble",
    "load",
    "load_ensemble",
    "parking",
    "renyi_centers",
    "simulate",
    "simulate_many",
    "sphere",
    "strong_renyi_centers",
    "theory",
]
