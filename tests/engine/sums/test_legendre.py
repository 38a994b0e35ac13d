"""The indices of spherical harmonics."""

from __future__ import annotations

from parkade.engine.sums import legendre


def test_legendre_degree_from_size():
    for top in range(3000):
        assert legendre.degree((top + 1) * (top + 2) // 2) == top
