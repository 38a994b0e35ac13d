"""`Model`: the base class of everything that moves tokens.

The naive velocity is the definition of a model. The other attributes are its *traits*: planning,
plots, theory, files and the explorer use only these, not specific models.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from parkade.base import check
from parkade.base.constants import SNAP
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.model.spectrum import real_basis, spectrum

if TYPE_CHECKING:
    from parkade.model.parts.mask import Mask
    from parkade.model.parts.noise import Noise

REGISTRY: dict[str, type[Storable]] = {}
"""Models and parts by the name of their kind, as used in files."""


class Storable(ABC):
    """Something that can be written to a file under the name of its kind.

    A subclass declares its kind: ``class Drift(Part, kind="drift")``.
    """

    kind: ClassVar[str] = ""

    def __init_subclass__(cls, kind: str = "", **options: Any) -> None:
        super().__init_subclass__(**options)
        if kind:
            cls.kind = kind
            REGISTRY[kind] = cls

    def to_dict(self) -> dict[str, Any]:
        """The kind and the data, ready for JSON."""
        return {"kind": self.kind, **_plain(self.data())}

    @abstractmethod
    def data(self) -> dict[str, Any]:
        """The arguments that recreate the object."""

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Any:
        """The object with these arguments."""
        return cls(**data)


class Scores(NamedTuple):
    """The scores ⟨R_k q x_k, R_j k x_j⟩ − slope·|k − j| of a head."""

    query: Array
    """The matrix q = βQ, (m, d)."""
    key: Array
    """The matrix k = K, (m, d)."""
    frequencies: Array
    """Angles per place by which R_k turns the planes (0, 1), (2, 3), … of the m axes; or none."""
    slope: float


class Model(Storable):
    """A flow of tokens on the sphere S^{d-1}.

    Attributes
    ----------
    d : int
        Dimension of the space around the sphere.
    triangular : bool
        Whether no token depends on a later one.
    autonomous : bool
        Whether the velocity does not depend on the time.
    plain : bool
        Whether it is the model of the paper: one head and nothing else, at any time.
    radii : bool
        Whether tokens have lengths besides their directions.
    batched : bool
        Whether `velocity` takes many systems at once, (..., n, d).
    sharpness : float
        β‖KᵀQ‖: the range of attention is sharpness^{-1/2}.
    rate : float
        ‖V‖: tokens relax at about this rate, at most.
    beta : float or None
        β, if there is one.
    mask : Mask or None
        Which tokens a token attends to, if there is attention.
    generator : (d, d) array or None
        V, if a single token moves by dx/dt = P_x(Vx).
    product : (d, d) array or None
        KᵀQ, if token k attends to token j with the weight exp(β⟨KᵀQ x_k, x_j⟩).
    product_error : float
        The rounding error of the entries of `product`, where terms may cancel.
    noise : Noise or None
        The noise that moves tokens besides the velocity, if there is one.
    scores : tuple of Scores
        What each head computes scores with, if its weights are their softmax; or none.
    """

    d: int
    triangular: bool = False
    autonomous: bool = True
    plain: bool = False
    radii: bool = False
    batched: bool = True
    sharpness: float = 1.0
    rate: float = 1.0
    beta: float | None = None
    mask: Mask | None = None
    generator: Array | None = None
    product: Array | None = None
    product_error: float = 0.0
    noise: Noise | None = None
    scores: tuple[Scores, ...] = ()

    @abstractmethod
    def velocity(
        self, tokens: Any, frozen: Any = None, frozen_weights: Any = None, *, t: float = 0.0
    ) -> Any:
        """dx/dt at `tokens`, straight from the definition."""

    def change(
        self, state: Any, frozen: Any = None, frozen_weights: Any = None, *, t: float = 0.0
    ) -> Any:
        """d/dt of a state: tokens, and in a last column, if there is one, the ln r of each."""
        if state.shape[-1] == self.d:
            return self.velocity(state, frozen, frozen_weights, t=t)
        from array_api_compat import array_namespace

        xp, logs = array_namespace(state), state[..., self.d :]
        moved = self.velocity(state[..., : self.d], frozen, frozen_weights, t=t)
        return xp.concat([moved, 0 * logs], axis=-1)

    def unfolded(self, t_end: float) -> Model:
        """The model until `t_end` as `Layers`, if it changes suddenly; otherwise itself."""
        return self

    @property
    def label(self) -> str:
        """A short description for captions."""
        return repr(self)

    @cached_property
    def leading_space(self) -> Array | None:
        """An orthonormal basis of the leading eigenspace of V, (d, m); None without a V."""
        if self.generator is None:
            return None
        groups = spectrum(self.generator, SNAP).groups
        vectors = np.hstack([group.eigenvectors for group in groups])
        planes = np.hstack([vectors.real, vectors.imag])
        return real_basis(vectors, int(np.linalg.matrix_rank(planes, tol=1e-8)))


def from_dict(data: Any) -> Any:
    """The model or part described by `to_dict`.

    This imports nothing: import the module that defines a custom kind first.
    """
    if not isinstance(data, dict):
        raise InputError(f"a model must be one JSON object, got {check.brief(data)}")
    name = data.get("kind")
    if not isinstance(name, str) or name not in REGISTRY:
        raise InputError(
            f"unknown kind of model {check.brief(name)}; import the module that defines it first"
        )
    fields = {key: value for key, value in data.items() if key != "kind"}
    try:
        return REGISTRY[name].from_data(fields)
    except (TypeError, KeyError) as error:
        raise InputError(f"not a valid model of kind {name}: {check.reason(error)}") from None


def _plain(value: Any) -> Any:
    """Arrays as lists and objects as dicts, for JSON."""
    if isinstance(value, Storable):
        return value.to_dict()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
