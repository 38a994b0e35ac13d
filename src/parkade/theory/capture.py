"""When frozen centres capture every token: the window of Theorem 5.2."""

from __future__ import annotations

from dataclasses import dataclass

from parkade.base.errors import InputError
from parkade.theory.conditions import SOLVE, Condition, conditions, suggest
from parkade.theory.ranges import HUGE, positive

SENTENCES = {
    "never": "Theorem 5.2 does not apply with {asked} for any {missing}.",
    "unknown": "No {missing} were found with which Theorem 5.2 applies with {asked}.",
    "fits": "Theorem 5.2 applies with {found}.",
    "range": "Theorem 5.2 applies with {found}: {missing} may be between {low:.6g} and {high:.6g}.",
    "fails": "Theorem 5.2 does not apply with {found}: it needs {needed}.",
    "value": "{name}={value:.6g}",
}
"""What is said of windows; pages fill in the same sentences."""

_RANGES = {"N": (0.0, HUGE), "c": (1e-50, 1e50), "eps": (1e-50, 1e6), "beta": (1e-100, 1e100)}


@dataclass(frozen=True)
class Window:
    """What Theorem 5.2 says about N, c, ε and β.

    Attributes
    ----------
    holds : bool or None
        Whether the theorem applies; None if some values were missing.
    N, c, eps, beta : float or None
        As given, or chosen so that all conditions hold; None if no choice was found.
    solved : tuple of str
        The names of the missing values that were found.
    limits : tuple of two floats, or None
        If one value was missing: the open interval of the values that fit.
    conditions : list of Condition
        Both sides of each inequality at these values; empty if some are missing.
    sentence : str

    Examples
    --------
    >>> import parkade as pk
    >>> window = pk.theory.capture_window(N=100, eps=0.1, beta=64)
    >>> window.solved, round(window.c, 2), all(c.holds for c in window.conditions)
    (('c',), 5.32, True)
    """

    holds: bool | None
    N: float | None
    c: float | None
    eps: float | None
    beta: float | None
    solved: tuple[str, ...]
    limits: tuple[float, float] | None
    conditions: list[Condition]
    sentence: str


def capture_window(
    *,
    N: float | None = None,
    c: float | None = None,
    eps: float | None = None,
    beta: float | None = None,
) -> Window:
    """Whether frozen centres capture all tokens, or which values are needed (Theorem 5.2).

    On the circle with Q = K = V = I, freeze tokens θ_j that are pairwise farther than cβ^{-1/2}
    apart and enter every sum with weight a_j ≥ 1. Let N = n + Σ a_j with n free tokens. If ::

        c > 2+2ε,  N·h((c−1−2ε)β^{-1/2}) < h(εβ^{-1/2}),  −N·g((c−2ε)β^{-1/2}) < g(εβ^{-1/2}),

    then almost surely every free token converges to within εβ^{-1/2} of some θ_j (Karagodin,
    Polyanskiy, Rigollet 2024; the paper prints the last inequality without its minus sign).
    The theorem implies that cβ^{-1/2} is an angle, at most π.

    Parameters
    ----------
    N, c, eps, beta : float, optional
        The known values. With all four, check the conditions. With one missing, find its range
        and choose the largest whole N, the smallest c, the smallest β of the last interval, or
        the ε with the largest margin. With more missing, suggest a set that fits: ε = 0.05 (or
        others if that fails), then c from the paper's sufficient set (c ≥ 5.5+2ε,
        β ≥ (c−1−2ε)²/2, N < e^{3(c−1−2ε)²/8}·ε/(c−1)) or the nearest one that β allows, then
        the rest.

    Returns
    -------
    Window

    Examples
    --------
    >>> import parkade as pk
    >>> pk.theory.capture_window(N=250, c=4, eps=0.1, beta=64).holds
    False
    >>> window = pk.theory.capture_window(N=250, eps=0.1, beta=64)
    >>> round(window.c, 3), len(window.conditions)
    (5.555, 4)
    """
    given = {"N": N, "c": c, "eps": eps, "beta": beta}
    known = {k: positive(k, v, *_RANGES[k]) for k, v in given.items() if v is not None}
    if "N" in known and known["N"] < 2:
        raise InputError(
            "N must be at least 2, one free token and one frozen token of weight 1, got "
            f"{known['N']:g}"
        )
    missing = [k for k in given if k not in known]
    limits = None
    if len(missing) == 1:
        limits, value = SOLVE[missing[0]](known)
        if value is not None:
            known[missing[0]] = value
    elif missing:
        known = suggest(known)
    if len(known) < 4:
        asked = _listed({k: v for k, v in given.items() if v is not None})
        name = "never" if len(missing) == 1 else "unknown"
        sentence = SENTENCES[name].format(asked=asked, missing=", ".join(missing))
        return Window(None, N, c, eps, beta, (), None, [], sentence)
    sides = conditions(known)
    failed = [s.name for s in sides if not s.holds]
    name = "fails" if failed else "fits" if limits is None else "range"
    low, high = limits or (0.0, 0.0)
    sentence = SENTENCES[name].format(
        found=_listed({k: known[k] for k in given}),
        needed=" and ".join(failed),
        missing=", ".join(missing),
        low=low,
        high=high,
    )
    return Window(
        holds=None if missing else not failed,
        **known,
        solved=tuple(missing),
        limits=limits,
        conditions=sides,
        sentence=sentence,
    )


def _listed(values: dict[str, float]) -> str:
    """Values by name."""
    return ", ".join(SENTENCES["value"].format(name=k, value=v) for k, v in values.items())
