"""Errors and warnings that parkade raises."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class ParkadeError(Exception):
    """Base class of parkade's errors; the message is one clear sentence."""


class InputError(ParkadeError, ValueError):
    """The input is wrong: the message says what was got, what was expected, what to do."""


class InaccurateSumsError(ParkadeError):
    """Harmonic sums differ from direct ones by more than the error bound."""


class UnfinishedError(ParkadeError):
    """A run is too slow to reach its end, or has used all the steps it was allowed."""


class StuckError(UnfinishedError):
    """A run ends early because a token has no motion: it has no length or feels no force."""


class StoreError(ParkadeError):
    """The store of an ensemble cannot be written or read."""


class DamagedError(ParkadeError):
    """Batches of an ensemble are damaged and must be recomputed: `files` are their names."""

    def __init__(self, text: str, files: Iterable[str] = ()) -> None:
        super().__init__(text)
        self.files = tuple(files)


class WorkerLostError(ParkadeError):
    """A process that ran part of an ensemble died."""


class TrustWarning(UserWarning):
    """Part of a run is dominated by rounding errors: see `Trajectory.trusted_until`."""


@contextmanager
def doubts_do_not_matter() -> Iterator[None]:
    """Suppress `TrustWarning`, where a few `tol` more do not change the result."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrustWarning)
        yield
