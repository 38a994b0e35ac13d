"""Constants shared by several folders."""

from __future__ import annotations

import sys

EPSILON = sys.float_info.epsilon
"""The machine epsilon of float64."""

SNAP = 1e-12
"""Entries of V − λI smaller than this times |V|, in V's Schur basis, count as zero."""
