"""Numbers that several folders agree on."""

from __future__ import annotations

import sys

EPSILON = sys.float_info.epsilon
"""The rounding of float64."""

SNAP = 1e-12
"""Entries of V − λI smaller than this times |V|, in V's Schur basis, count as zero."""
