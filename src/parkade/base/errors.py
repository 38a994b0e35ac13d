"""Errors and warnings that parkade raises."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_LONGEST = 2000  # characters of a message; what is quoted may be a file of megabytes


class ParkadeError(Exception):
    """Base class of parkade's errors; the message is one clear sentence.

    Examples
    --------
    >>> import parkade as pk
    >>> try:
    ...     pk.load("missing.npz")
    ... except pk.ParkadeError as error:
    ...     print(error)
    there is no file missing.npz
    """

    def __init__(self, text: str = "") -> None:
        if len(text) > _LONGEST:
            text = f"{text[: _LONGEST // 2]} … {text[-_LONGEST // 2 :]}"
        super().__init__(text)


class InputError(ParkadeError, ValueError):
    """The input is wrong: the message says what it is, what was expected, and what to do.

    Examples
    --------
    >>> import parkade as pk
    >>> try:
    ...     pk.Attention(d=2, beta=-1.0)
    ... except pk.InputError as error:
    ...     print(error)
    beta must be ≥ 0, got -1; put the sign into Q or K
    """


class InaccurateSumsError(ParkadeError):
    """Harmonic sums differ from direct ones by more than the error bound."""


class UnfinishedError(ParkadeError):
    """A run is too slow to reach its end, or has used all the steps it was allowed.

    Examples
    --------
    >>> import parkade as pk
    >>> skew = [[0, -0.3, 0.5], [0.3, 0, -0.7], [-0.5, 0.7, 0]]  # tokens never come to rest
    >>> x0 = pk.sphere.uniform(10, 3, seed=1)
    >>> try:
    ...     pk.simulate(pk.Attention(V=skew), x0, 1e8, max_steps=100)
    ... except pk.UnfinishedError:
    ...     print("unfinished")
    unfinished
    """


class StuckError(UnfinishedError):
    """A run ends early because a token has no motion: no length, force or finite velocity."""


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
    """Part of a run, or a prediction, cannot be relied on: see `Trajectory.trusted_until`.

    Examples
    --------
    >>> import warnings
    >>> import parkade as pk
    >>> x0 = pk.sphere.uniform(60, 2, seed=3)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     run = pk.simulate(pk.Attention(d=2, beta=64.0, mask="full"), x0, 1e13)
    >>> caught[0].category is pk.TrustWarning, run.trusted_until < 1e13
    (True, True)
    """


_doubts_matter = ContextVar("doubts_matter", default=True)


@contextmanager
def doubts_do_not_matter() -> Iterator[None]:
    """Suppress `TrustWarning`, where a few `tol` more do not change the result.

    In this thread only. Filters of warnings belong to all threads: one that leaves such a block
    would restore them while another is still inside.
    """
    token = _doubts_matter.set(False)
    try:
        yield
    finally:
        _doubts_matter.reset(token)


def doubts_matter() -> bool:
    """Whether the caller wants to know."""
    return _doubts_matter.get()
