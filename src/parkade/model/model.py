"""`Model`: what moves tokens, and the questions that the rest of parkade asks about it.

The naive velocity is the definition of a model. The other attributes are its *traits*: planning,
plots, theory, files and the explorer ask these and know no model in particular.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from parkade.base import check
from parkade.base.constants import SNAP
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.model.mask import Mask
from parkade.model.spectrum import real_basis, spectrum

KINDS: dict[str, type[Kind]] = {}
"""Models and parts by the name of their kind in files."""


class Kind:
    """Something that can be written to a file by the name of its kind.

    A subclass says its kind: ``class Drift(Part, kind="drift")``.
    """

    kind: ClassVar[str] = ""

    def __init_subclass__(cls, kind: str = "", **options: Any) -> None:
        super().__init_subclass__(**options)
        if kind:
            cls.kind = kind
            KINDS[kind] = cls

    def to_dict(self) -> dict[str, Any]:
        """The data of the model as JSON can hold it, with its kind."""
        return {"kind": self.kind, **_plain(self.data())}

    def data(self) -> dict[str, Any]:
        """The arguments that make the same object again."""
        raise NotImplementedError

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Any:
        """The object that these arguments make."""
        return cls(**data)

    def kinds(self) -> tuple[type[Kind], ...]:
        """The classes that reading this object needs."""
        return (type(self),)


class Model(Kind):
    """What moves tokens on the sphere S^{d-1}.

    Attributes
    ----------
    d : int
        Dimension of the space around the sphere.
    triangular : bool
        Whether no token feels a later one.
    autonomous : bool
        Whether the velocity does not depend on the time.
    batched : bool
        Whether `velocity` takes many systems at once, (..., n, d).
    sharpness : float
        β‖KᵀQ‖: attention weakens over a distance of sharpness^{-1/2}.
    rate : float
        ‖V‖: tokens relax at about this rate, at most.
    beta : float or None
        β, where there is one.
    mask : Mask or None
        Which tokens a token attends to, where there is attention.
    generator : (d, d) array or None
        V, if a token on its own moves by dx/dt = P_x(Vx).
    product : (d, d) array or None
        KᵀQ, if token k attends to token j with a weight exp(β⟨KᵀQ x_k, x_j⟩).
    product_error : float
        The rounding error of the entries of `product`, which may be differences.
    """

    d: int
    triangular: bool = False
    autonomous: bool = True
    batched: bool = True
    sharpness: float = 1.0
    rate: float = 1.0
    beta: float | None = None
    mask: Mask | None = None
    generator: Array | None = None
    product: Array | None = None
    product_error: float = 0.0

    def velocity(
        self, tokens: Any, frozen: Any = None, frozen_weights: Any = None, *, t: float = 0.0
    ) -> Any:
        """dx/dt at `tokens`, straight from the definition."""
        raise NotImplementedError

    @property
    def label(self) -> str:
        """The model in a few words, for captions."""
        return repr(self)

    @cached_property
    def leading_space(self) -> Array | None:
        """An orthonormal basis of the leading eigenspace of V, (d, m), where there is a V."""
        if self.generator is None:
            return None
        found = [group.eigenvectors for group in spectrum(self.generator, SNAP).groups]
        vectors = np.hstack(found)
        planes = np.hstack([vectors.real, vectors.imag])
        return real_basis(vectors, int(np.linalg.matrix_rank(planes, tol=1e-8)))


def from_dict(data: Any) -> Any:
    """The model or part that `to_dict` described.

    Nothing is imported for it: the module of a kind that is not parkade's own must be imported
    before.
    """
    if not isinstance(data, dict):
        raise InputError(f"a model must be one JSON object, got {check.brief(data)}")
    name = data.get("kind")
    if not isinstance(name, str) or name not in KINDS:
        raise InputError(
            f"there is no kind of model called {check.brief(name)}; import the module that "
            "defines it first"
        )
    fields = {key: value for key, value in data.items() if key != "kind"}
    try:
        return KINDS[name].from_data(fields)
    except (TypeError, KeyError) as error:
        raise InputError(f"this is not a model of kind {name}: {check.reason(error)}") from None


def _plain(value: Any) -> Any:
    """Arrays as lists and objects as dicts, for JSON."""
    if isinstance(value, Kind):
        return value.to_dict()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
