"""Models with one axis or one part of a spectrum changed, to see which logits depend on it.

`with_axis` changes the tokens before a layer: x ← x + (s − 1) B Bᵀx, for an orthonormal basis B of
the axis. `with_spectrum` changes V of one head: on its range V = XΛX⁻¹, and each eigenvalue is
multiplied by a factor that depends on the sign of its real part. All else stays as it was trained.
Layers that share their weights are all changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.trained.block import Block, Floats
from parkade.trained.changes import changed
from parkade.trained.flows import norm_before
from parkade.trained.meaning.axes import axes_of, head_number, matrices

if TYPE_CHECKING:
    from parkade.trained.model import Trained

AxisChange: TypeAlias = "Literal['remove', 'flip'] | float"

_FACTORS = {"remove": 0.0, "flip": -1.0}
_WORST = 1e8  # condition of eigenvectors beyond which parts of a spectrum mean nothing


def with_axis(model: Trained, layer: int, head: int, change: AxisChange) -> Trained:
    """The model with what a head writes removed from the tokens before its layer, or turned.

    Parameters
    ----------
    model : Trained
    layer, head : int
        Whose axis: that of the leading eigenvalue of V, or its plane if it is complex. Head −1 is
        the sum of all heads of the layer.
    change : "remove", "flip" or float
        The factor of the tokens' component along the axis: 0, −1, or any other.
    """
    layer, factor = model.number(layer), _factor(change)
    basis = axes_of(*matrices(model, layer, head)).writes
    what = change if isinstance(change, str) else f"times {factor:g}"
    return along(model, layer, basis, factor, f"axis of layer {layer}, head {head}: {what}")


def along(
    model: Trained, layer: int, directions: ArrayLike, factor: float, note: str = "direction"
) -> Trained:
    """The model with the tokens before a layer scaled along the span of directions (k, d).

    Examples
    --------
    >>> import parkade as pk
    >>> from parkade.trained.meaning import along
    >>> model = pk.trained.load("ALBERT-rxn", download=True)
    >>> direction = model.read("CCO").hidden[0][1]
    >>> flipped = along(model, 0, direction, -1)
    >>> flipped.read("CCO")
    Reading(5 tokens by ALBERT-rxn (direction), 12 layers)
    """
    layer = model.number(layer)
    vectors = check.array("directions", directions).reshape(-1, np.shape(directions)[-1])
    if vectors.shape[1] != model.d or not vectors.any(axis=1).all():
        raise InputError(
            f"directions must be vectors ≠ 0 of {model.d} numbers, got {check.brief(directions)}"
        )
    basis = np.linalg.qr(vectors.T).Q
    turn = (np.eye(model.d) + (factor - 1) * basis @ basis.T).astype(model.dtype)
    return _with_block(
        model, layer, note, lambda block: replace(block, before=_joined(block, turn))
    )


def with_spectrum(
    model: Trained, layer: int, head: int, positive: float = 1.0, negative: float = 1.0
) -> Trained:
    """The model with the spectrum of a head changed.

    Parameters
    ----------
    model : Trained
    layer, head : int
    positive, negative : float
        Factors of the eigenvalues of V with positive and with negative real part: 0 cuts this part
        of the spectrum, −1 turns its sign.
    """
    layer, h = model.number(layer), head_number(model, head)
    factors = check.number("positive", positive), check.number("negative", negative)
    V, out = matrices(model, layer, h)
    mixed = scaled(V @ out, *factors)
    part, norm = model.block(layer).attention, norm_before(model, layer, "attention")
    assert part is not None
    m, share = model.shape.d_head, model.shape.heads // model.shape.kv_heads
    o, columns = part.o.astype(np.float64), slice(h * m, (h + 1) * m)
    values = slice(h // share * m, (h // share + 1) * m)
    changed_o = o.copy()
    changed_o[:, columns] = o[:, columns] @ mixed
    # Biases are a constant force, and no part of V: they go on as before.
    constant = np.zeros(m) if part.bv is None else part.bv[values].astype(np.float64)
    if norm.bias is not None:
        constant = constant + part.v[values].astype(np.float64) @ norm.bias
    lost = (o - changed_o)[:, columns] @ constant
    bo = part.bo
    if lost.any():
        bo = (lost if bo is None else bo + lost).astype(model.dtype)
    new = replace(part, o=changed_o.astype(model.dtype), bo=bo)
    note = f"spectrum of layer {layer}, head {h}: {factors[0]:g}, {factors[1]:g}"
    return _with_block(model, layer, note, lambda block: replace(block, attention=new))


def scaled(matrix: Array, positive: float, negative: float) -> Array:
    """The matrix G = X diag(s) X⁻¹ that multiplies the eigenvalues of a matrix XΛX⁻¹ by s.

    G commutes with the matrix and is real, since s is the same for conjugate eigenvalues.
    """
    values, X = np.linalg.eig(matrix)
    if np.linalg.cond(X) > _WORST:
        raise InputError(
            "V has no basis of eigenvectors, up to rounding, so its spectrum has no parts; change "
            "another head"
        )
    factors = np.select([values.real > 0, values.real < 0], [positive, negative], 1.0)
    mixed: Array = (X * factors @ np.linalg.inv(X)).real
    return mixed


def _factor(change: AxisChange) -> float:
    if isinstance(change, str):
        return _FACTORS[check.choice("change", change, tuple(_FACTORS))]
    return check.number("change", change)


def _joined(block: Block, turn: Floats) -> Floats:
    """The map of tokens before a block, after the one that it already has."""
    return turn if block.before is None else turn @ block.before


def _with_block(model: Trained, layer: int, note: str, change: Callable[[Block], Block]) -> Trained:
    """The model with the weights of one layer changed."""
    which = model.shape.weights_of(layer)

    def block(i: int) -> Block:
        old = model.block_of(i)
        return change(old) if i == which else old

    return changed(model, note, block)
