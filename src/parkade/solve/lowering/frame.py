"""The frame in which long runs are computed: V's Schur basis, rotating with the tokens.

In exact arithmetic the frame makes no difference. In floating point it determines how long a
run can be trusted. Tokens converge to the eigenspace L of V's leading eigenvalue λ, where
V − λI is zero. If rounding leaves 1e-16 there instead, it moves the tokens after t ~ 1e13.
In V's Schur basis such an entry can be recognised and set to exactly zero.

A complex leading pair λ ± iω rotates all tokens forever, which takes steps of size 1/ω
forever. In a frame that rotates with them the motion ends. The generator S of such a frame
must commute with V and with KᵀQ, and there must be no frozen tokens.

The shape of a rotating configuration is then known at any time, but not its phase: the rate ω
has a rounding error, so after t = tol/(ε ω) the position on the orbit is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from parkade.base.constants import EPSILON, SNAP
from parkade.base.types import Array
from parkade.model.parts.head import Head
from parkade.model.transformer import Transformer

COUPLED = 1e-2
"""Two eigenvalues closer than this times the entry that couples them are (nearly) defective."""

LEADING_MARGIN = 1e-6
"""Eigenvalues closer to the largest one than this times the norm of V are leading, too."""

_WIDE = 0.1  # eigenvalues within this margin may belong to a Jordan block that rounding split
_ROUNDING = 4 * EPSILON  # how well V is known, relative to its norm
_ROUNDED = 25  # errors of a Schur form for each dimension, in the same unit


@dataclass(frozen=True, eq=False)
class Frame:
    """An orthonormal basis, and the generator of a rotation (zero for a frame at rest)."""

    basis: Array  # columns in the coordinates of the model
    spin: Array  # antisymmetric, in the coordinates of the model
    V: Array  # in the basis
    B: Array  # V − λI − spin, in the basis
    leading: float  # λ
    rotates: bool  # whether tokens rotate forever in this frame
    attracts: bool  # whether λ > 0, so that tokens end in clusters with a leader
    drifts: bool  # whether λ is defective or nearly so: tokens approach their limit like 1/t
    lost: float = 0.0  # the largest entry of V − λI that counts as zero, but is no rounding error

    def known_until(self, tol: float) -> float:
        """The time when rounding of V in this basis has moved a token by about tol; often infinity.

        A Jordan block of size 2 is recognised, but rounding splits larger ones: see `_blur`.
        """
        size, rate = self._blur
        block = (tol ** (1 / size)) / rate if rate else np.inf
        return min(block, tol / self.lost if self.lost else np.inf)

    @cached_property
    def _blur(self) -> tuple[int, float]:
        """The size m of the largest Jordan block of λ, and a rate r, which is 0 if m ≤ 2.

        Rounding of V by 4ε moves a token by (rt)^m. A change E of the block N changes e^{tN},
        about (tN)^{m−1}/(m−1)!, by E N^{2m−2} t^{2m−1}/(2m−1)!. The size is an upper bound.
        """
        if self._standard or len(self.V) < 3 or not np.triu(self.B, 1).any():
            return 1, 0.0
        values = np.linalg.eigvals(self.V)
        near = np.abs(values - values[values.real.argmax()]) <= _WIDE * np.abs(values).max()
        if near.sum() < 3:
            return 1, 0.0
        from parkade.model.spectrum import spectrum

        groups = spectrum(self.V, SNAP).groups
        m = max(group.size - group.dim + 1 for group in groups)
        if m < 3:
            return m, 0.0
        norm = max(float(np.linalg.norm(group.excess, 2)) for group in groups)
        share = math.factorial(m - 1) / math.factorial(2 * m - 1)
        return m, norm * (_ROUNDING * share) ** (1 / m)

    @cached_property
    def turning(self) -> float:
        """The slowest rate at which tokens rotate forever in this frame; 0 if they do not."""
        rates = _rates(self.V) if self.rotates else np.empty(0)
        return float(rates.min()) if rates.size else 0.0

    def enter(self, x: Array) -> Array:
        """The components of vectors in the basis."""
        return x if self._standard else x @ self.basis

    def leave(self, x: Array) -> Array:
        """The vectors that have these components in the basis."""
        return x if self._standard else x @ self.basis.T

    @cached_property
    def _standard(self) -> bool:
        return bool(np.array_equal(self.basis, np.eye(len(self.basis))))


_last: dict[str, tuple[Head, Frame]] = {}


def _remembered(kind: str, head: Head, find: Callable[[Head], Frame]) -> Frame:
    """The frame that `find` returns, cached: heads that differ only in β have the same one."""
    known = _last.get(kind)
    if known is None or not all(getattr(known[0], m) is getattr(head, m) for m in "QKV"):
        known = _last[kind] = head, find(head)
    return known[1]


def rest_frame(head: Head) -> Frame:
    """The frame at rest in the coordinates of the model."""
    return _remembered("rest", head, _rest_frame)


def long_run_frame(head: Head, *, frozen: bool = False) -> Frame:
    """The frame for long runs of one head, with or without frozen tokens."""
    if frozen:
        return _remembered("still", head, _still_frame)
    return _remembered("long", head, _turning_frame)


def transformer_frame(model: Transformer, *, long: bool, still: bool = False) -> Frame:
    """The frame of any transformer, for short or for long runs; with `still` it does not rotate.

    A rotating frame must leave all parts of the model unchanged.
    """
    V = (
        np.sum([head.V for head in model.heads], axis=0)
        if model.heads
        else np.zeros((model.d,) * 2)
    )
    if not long:
        return frame_at_rest(V)
    turns = not still and model.mlp is None and model.norm.name == "post"
    heads = [matrix for head in model.heads for matrix in (head.product, head.V)]
    return _frame_of(V, heads, may_turn=turns)


def _rest_frame(head: Head) -> Frame:
    return frame_at_rest(head.V)


def frame_at_rest(V: Array) -> Frame:
    """The frame at rest in the coordinates of a model with the value matrix V."""
    d = len(V)
    leading = float(np.linalg.eigvals(V).real.max())
    return Frame(
        basis=np.eye(d),
        spin=np.zeros((d, d)),
        V=np.array(V),
        B=V - leading * np.eye(d),
        leading=leading,
        rotates=_turns(V),
        attracts=leading > SNAP * float(np.abs(V).max()),
        drifts=False,
    )


def _still_frame(head: Head) -> Frame:
    return _frame_of(head.V, [head.product], may_turn=False)


def _turning_frame(head: Head) -> Frame:
    return _frame_of(head.V, [head.product], may_turn=True)


def _frame_of(V: Array, matrices: Sequence[Array], *, may_turn: bool) -> Frame:
    """The Schur basis of V, rotating if that leaves V and the other `matrices` unchanged."""
    d = len(V)
    W, T = _gather(*_schur(V))
    S = np.zeros((d, d))
    turns = _turns(V)
    if may_turn and _turns(V, SNAP):  # rounding in a defective V leaves no S that commutes
        candidate = (T - T.T) / 2
        candidate[np.abs(candidate) <= _zero(V)] = 0.0
        inside = [W.T @ matrix @ W for matrix in matrices]
        if _commute(candidate, T) and all(_commute(candidate, matrix) for matrix in inside):
            S, turns = candidate, False
    # The diagonal of T contains the real parts of the eigenvalues.
    leading = float(T.diagonal().max())
    B = T - leading * np.eye(d) - S
    lost = 0.0
    if not np.array_equal(T, V) or S.any():
        zero = _zero(V)
        small = np.abs(B) <= zero
        lost = float(np.abs(B[small]).max(initial=0.0))
        if lost <= _ROUNDED * d * _ROUNDING / SNAP * zero:
            lost = 0.0
        B[small] = 0.0
    spin = W @ S @ W.T
    return Frame(
        basis=W,
        spin=(spin - spin.T) / 2,
        V=T,
        B=B,
        leading=leading,
        rotates=turns,
        attracts=leading > SNAP * float(np.abs(V).max()),
        drifts=_is_defective(B),
        lost=lost,
    )


def _zero(V: Array) -> float:
    """The absolute value below which numbers count as zero, compared with V."""
    return SNAP * float(np.linalg.norm(V, 2))


def _is_defective(B: Array) -> bool:
    """Whether V − λI, quasi-triangular, couples eigenvalues at or very near the leading one."""
    if not B.any():
        return False
    gaps = -B.diagonal()
    coupling = np.abs(np.triu(B, 1))
    wide = COUPLED * coupling
    apart = np.maximum(gaps[:, None], gaps)  # both are at most this far below the leading one
    return bool(((coupling > 0) & (apart <= wide)).any())


def _turns(V: Array, margin: float = LEADING_MARGIN) -> bool:
    """Whether the leading eigenvalues are a complex pair, so that tokens never come to rest.

    By default the margin is so wide that rounding in a defective V does not look like a pair.
    """
    return bool(_rates(V, margin).size)


def _rates(V: Array, margin: float = LEADING_MARGIN) -> Array:
    """The nonzero rates at which the leading eigenvalues rotate tokens.

    Rates below the margin times the norm of V count as zero: rounding moves the eigenvalues of a
    defective V by as much, also if all of them are 0.
    """
    values, size = np.linalg.eigvals(V), float(np.linalg.norm(V, 2))
    leading = values[values.real >= values.real.max() - LEADING_MARGIN * size]
    rates: Array = np.abs(leading.imag)
    return rates[rates > margin * size]


def _schur(V: Array) -> tuple[Array, Array]:
    """Orthonormal W and quasi-triangular T with V = W T Wᵀ; W = I if V is triangular."""
    if np.array_equal(V, np.triu(V)):
        return np.eye(len(V)), np.array(V)
    if np.allclose(V, V.T, rtol=0, atol=1e-15 * float(np.abs(V).max())):
        values, vectors = np.linalg.eigh(V)
        return vectors, np.diag(values)
    import scipy.linalg

    T, W = scipy.linalg.schur(V, output="real")
    return W, T


def _gather(W: Array, T: Array) -> tuple[Array, Array]:
    """The Schur form with the leading eigenvalues first, if there are others between them.

    Only then is V − λI zero in the coordinates of the eigenspace where tokens come to rest.
    """
    values = T.diagonal()
    leads = values >= values.max() - LEADING_MARGIN * float(np.abs(T).max())
    places = np.flatnonzero(leads)
    if places[-1] - places[0] < len(places):
        return W, T
    from scipy.linalg.lapack import dtrsen

    ordered, basis = dtrsen(leads, T, W, job="N")[:2]
    return basis, ordered


def _commute(X: Array, Y: Array) -> bool:
    scale = float(np.linalg.norm(X) * np.linalg.norm(Y))
    return bool(np.linalg.norm(X @ Y - Y @ X) <= 1e-12 * scale)
