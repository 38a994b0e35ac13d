"""`Part`: a term of the force on tokens; a `Transformer` sums its parts."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from parkade.base.types import Array
from parkade.model.model import Storable

if TYPE_CHECKING:
    from parkade.model.parts.mask import Mask
    from parkade.model.parts.position import Position


@dataclass(frozen=True)
class Surroundings:
    """The inputs of a force besides the tokens.

    Attributes
    ----------
    mask : Mask
        Which tokens a token attends to.
    t : float
        The time.
    frozen, frozen_weights : arrays or None
        Fixed tokens that all tokens attend to, and their weights in the sums.
    attention : str
        How scores become weights, one of `weights.KINDS`.
    position : Position or None
        What the places of tokens do to scores.
    slope : float
        The bias of a head against distance in the sequence; 0 if there is none.
    """

    mask: Mask
    t: float = 0.0
    frozen: Any = None
    frozen_weights: Any = None
    attention: str = "softmax"
    position: Position | None = None
    slope: float = 0.0


class Part(Storable):
    """A term of the force on tokens.

    A part is immutable data, usually a dataclass, with its force written against the array API
    standard. The rest of parkade uses its traits, listed below. A part that acts on each token
    separately, such as a drift, needs only a `force` and a `rate`.

    Attributes
    ----------
    triangular : bool
        Whether, under a triangular mask, no token depends on a later one.
    autonomous : bool
        Whether the force does not depend on the time.
    sharpness : float
        β‖KᵀQ‖ of attention; 0 for other parts.
    rate : float
        Approximate size of the force's derivative.
    generator : (d, d) array or None
        The matrix M, if the force on a single token is Mx; None if it is not linear.
    label : str
        A short description for captions.

    Examples
    --------
    >>> from dataclasses import dataclass, field
    >>> import parkade as pk
    >>> @dataclass(frozen=True)
    ... class Wind(pk.Part, kind="wind"):
    ...     strength: float
    ...
    ...     def force(self, tokens, around):
    ...         return 0 * tokens + self.strength
    >>> model = pk.Transformer([pk.Head(d=2, beta=4.0)], parts=[Wind(0.5)])
    >>> pk.simulate(model, pk.sphere.uniform(5, 2, seed=1), 100.0).final.round(3).tolist()[0]
    [0.707, 0.707]
    """

    triangular: bool = True
    autonomous: bool = True
    sharpness: float = 0.0
    rate: float = 1.0
    generator: Array | None = None

    @abstractmethod
    def force(self, tokens: Any, around: Surroundings) -> Any:
        """The force on `tokens`, (..., n, d), before it is projected on the sphere."""

    @property
    def label(self) -> str:
        """A short description for captions."""
        return self.kind or type(self).__name__

    def data(self) -> dict[str, Any]:
        """The fields of the dataclass."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]  # parts contain arrays
