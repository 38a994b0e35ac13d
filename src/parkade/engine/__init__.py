"""Everything compiled. Nothing above this package knows about Numba."""

from parkade.engine import balls, energy, explicit, implicit, neighbours

METHODS = {"explicit": explicit, "implicit": implicit}
"""Integrators by name: modules with workspace, start, advance, interpolate and constants."""

__all__ = ["METHODS", "balls", "energy", "neighbours"]
