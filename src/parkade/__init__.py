"""Parkade: why tokens cluster in transformers."""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, which is slow to import
if TYPE_CHECKING:
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

# Each is imported when it is first asked for: the command line has to be there at once.
_HOMES = {
    "attention": ("Attention",),
    "clusters": ("cluster_labels", "consumption"),
    "errors": ("InputError", "ParkadeError", "TrustWarning", "UnfinishedError"),
    "flow": ("simulate", "simulate_many"),
    "parking": ("renyi_centers", "strong_renyi_centers"),
    "sweeps.ensemble": ("ensemble", "load_ensemble"),
    "trajectory": ("Trajectory", "load"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _HOME:
        value = getattr(import_module(f"parkade.{_HOME[name]}"), name)
    elif name in __all__:
        value = import_module(f"parkade.{name}")
    else:
        raise AttributeError(f"module 'parkade' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
