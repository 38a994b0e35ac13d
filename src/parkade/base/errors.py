"""What parkade raises when it cannot do what it was asked."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class ParkadeError(Exception):
    """Base of every error parkade raises on purpose; its text is one clear sentence."""


class InputError(ParkadeError, ValueError):
    """The input is wrong: the message says what was got, what was expected, what to do."""


class InaccurateSumsError(ParkadeError):
    """Harmonic sums were found to differ from direct ones by more than they should."""


class UnfinishedError(ParkadeError):
    """A run cannot come to its end at its pace, or took all the steps it was allowed."""


class StoreError(ParkadeError):
    """The store of an ensemble cannot be written or read."""


class DamagedError(ParkadeError):
    """Batches of an ensemble are damaged and must be computed again: `files` are their names."""

    def __init__(self, text: str, files: Iterable[str] = ()) -> None:
        super().__init__(text)
        self.files = tuple(files)


class WorkerLostError(ParkadeError):
    """A process that was running part of an ensemble is gone."""


class TrustWarning(UserWarning):
    """Part of a run is driven by rounding, not by the model: see `Trajectory.trusted_until`."""


@contextmanager
def doubts_do_not_matter() -> Iterator[None]:
    """A block without `TrustWarning`: what is made of its runs does not mind some tol more."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrustWarning)
        yield
