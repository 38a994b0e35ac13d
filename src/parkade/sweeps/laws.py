"""Random laws of the tokens and matrices of an ensemble, as plain data.

A law is a JSON value, parsed from the user's input, with a label for axes and tables. Samples
are drawn from a generator. Every run has its own: see `generator`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.model import sphere

_STREAMS = ("start", "Q", "K", "V", "heads", "mlp", "noise")
_LABEL_SIZE = 4  # larger matrices are not written out in labels
_FISHER = "von Mises-Fisher"
_STARTS = f"'uniform', ('{_FISHER}', kappa), ('mixture', components, spread) or (n, d) tokens"


def generator(seed: int, run: int, name: str) -> np.random.Generator:
    """The generator of one quantity in run number `run`; it depends on these three only.

    Each quantity has its own stream, so that a law for Q does not change the tokens.

    Examples
    --------
    >>> from parkade.sweeps.laws import generator
    >>> generator(0, 7, "start").random() == generator(0, 7, "start").random()
    True
    """
    key = run, _STREAMS.index(name)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def matrix(name: str, value: Any) -> Any:
    """A matrix or its law as data: "gaussian", a number, a diagonal or rows."""
    if isinstance(value, str):
        kind = check.choice(name, value, ("I", "gaussian"))
        return 1.0 if kind == "I" else kind
    m = check.array(name, value)
    if m.ndim > 2 or (m.ndim == 2 and m.shape[0] != m.shape[1]) or not m.size:
        raise InputError(
            f"{name} must be a number, a diagonal, a square matrix, 'I' or 'gaussian', "
            f"got shape {m.shape}"
        )
    return m.tolist()


def simplest(name: str, value: Any, d: int) -> Any:
    """The shortest form of a matrix: a number if possible, then a diagonal."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        check.matrix(name, value, 2)  # checks its size, for which d=2 is enough
        return value
    m = check.matrix(name, value, d)
    diagonal = np.diagonal(m)
    if not np.array_equal(m, np.diag(diagonal)):
        return m.tolist()
    return float(diagonal[0]) if (diagonal == diagonal[0]).all() else diagonal.tolist()


def matrix_label(value: Any) -> str:
    """A short label of a matrix: I, 2 I, diag(1, -1), [0, -1; 1, 0], gaussian."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return "I" if value == 1 else f"{value:g} I"
    if len(value) > _LABEL_SIZE:
        return f"{len(value)}×{len(value)} {'matrix' if isinstance(value[0], list) else 'diagonal'}"
    if not isinstance(value[0], list):
        return f"diag({_listed(value)})"
    return f"[{'; '.join(map(_listed, value))}]"


def is_drawn(value: Any) -> bool:
    """Whether a matrix differs from run to run."""
    return isinstance(value, str)


def is_start(value: Any) -> bool:
    """Whether this is one law of the tokens, not a list of laws."""
    if isinstance(value, (str, np.ndarray)):
        return True
    if not isinstance(value, (list, tuple)) or not value:
        return False
    if isinstance(value[0], str):  # a name and its parameters
        return len(value) > 1 and not any(isinstance(v, (str, list, tuple)) for v in value[1:])
    row = value[0]  # of explicit tokens
    if isinstance(row, np.ndarray):
        return row.ndim == 1
    return isinstance(row, (list, tuple)) and not any(isinstance(v, (str, list)) for v in row)


def start(value: Any) -> Any:
    """A law of the tokens as data: a name, a name and its parameters, or rows."""
    if isinstance(value, str):
        return check.choice("start", value, ("uniform",)) if value != "uniform" else value
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], str):
        kind, *numbers = value
        if kind in (_FISHER, "von Mises–Fisher") and len(numbers) == 1:
            return [_FISHER, check.strength("kappa of start", numbers[0])]
        if kind == "mixture" and len(numbers) == 2:
            spread = check.strength("spread of start", numbers[1])
            return [kind, check.positive_int("components of start", numbers[0]), spread]
        raise InputError(f"start must be {_STARTS}, got {check.brief(value)}")
    if not isinstance(value, (list, tuple, np.ndarray)):
        raise InputError(f"start must be {_STARTS}, got {check.brief(value)}")
    return check.tokens(value, name="start").tolist()


def start_label(value: Any) -> str:
    """A short label of a law of the tokens."""
    if isinstance(value, str):
        return value
    if isinstance(value[0], str):
        return f"{value[0]}({_listed(value[1:])})"
    return "given"


def explicit_size(value: Any) -> tuple[int, int] | None:
    """Number and dimension of the tokens if a law lists them explicitly, else None."""
    if isinstance(value, str) or isinstance(value[0], str):
        return None
    return len(value), len(value[0])


def draw_start(value: Any, n: int, d: int, rng: np.random.Generator) -> Array:
    """Draw (n, d) tokens from a law, normalised bit for bit as in `simulate`."""
    if value == "uniform":
        x = sphere.uniform(n, d, rng)
    elif value[0] == _FISHER:
        x = sphere.von_mises_fisher(n, d, value[1], seed=rng)
    elif value[0] == "mixture":
        x = sphere.mixture(n, d, value[1], value[2], rng)
    else:
        return np.array(value)  # already checked and renormalised
    return check.tokens(x)


def _listed(numbers: list[float]) -> str:
    return ", ".join(f"{v:g}" for v in numbers)
