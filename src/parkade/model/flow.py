"""`Flow`: a model given by a Python function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parkade.base import check
from parkade.base.errors import InputError
from parkade.model.model import Model


class Flow(Model, kind="flow"):
    """Tokens that move with the velocity given by a Python function.

    Parameters
    ----------
    velocity : function of (t, tokens)
        dx/dt, an (n, d) array; `tokens` is (n, d) with unit rows. The result is projected on
        the tangent space of the sphere.
    d : int
        Dimension of the space around the sphere.
    causal : bool
        Whether no token depends on a later one. Long runs of causal flows use the implicit
        method, with finite differences.
    autonomous : bool
        Whether the velocity does not depend on the time.
    sharpness : float
        The sharpness of the interaction, in units of β. Clusters are tokens within
        0.1·sharpness^{-1/2} of each other, or 0.1.
    rate : float
        Approximate rate at which tokens relax. A run counts as long compared with 1/rate.
    label : str, optional
        A short description; the name of the function by default.

    Examples
    --------
    >>> import parkade as pk
    >>> def towards_north(t, tokens):
    ...     return 0 * tokens + [0.0, 1.0]
    >>> flow = pk.Flow(towards_north, d=2)
    >>> pk.simulate(flow, pk.sphere.uniform(4, 2, seed=1), 50.0).final.round(6).tolist()[0]
    [0.0, 1.0]
    """

    batched = False

    def __init__(
        self,
        velocity: Callable[[float, Any], Any] | None,
        d: int,
        causal: bool = False,
        *,
        autonomous: bool = False,
        sharpness: float = 1.0,
        rate: float = 1.0,
        label: str | None = None,
    ) -> None:
        if velocity is not None and not callable(velocity):
            raise InputError(
                f"velocity must be a function of (t, tokens), got {check.brief(velocity)}"
            )
        self.function = velocity
        self.d = check.dimension(d)
        self.triangular = bool(causal)
        self.autonomous = bool(autonomous)
        self.sharpness = check.strength("sharpness", sharpness)
        self.rate = check.positive("rate", rate)
        name = getattr(velocity, "__name__", type(velocity).__name__)
        self._label = check.label("label", label) if label else name

    def __repr__(self) -> str:
        return f"Flow({self._label}, d={self.d}{', causal=True' if self.triangular else ''})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Flow)
            and self.function is other.function
            and self.to_dict() == other.to_dict()
        )

    __hash__ = None  # type: ignore[assignment]  # like all models

    @property
    def label(self) -> str:
        """The name of the flow."""
        return f"flow {self._label}"

    def velocity(
        self, tokens: Any, frozen: Any = None, frozen_weights: Any = None, *, t: float = 0.0
    ) -> Any:
        """dx/dt at `tokens`, (n, d), projected on the sphere."""
        from array_api_compat import array_namespace

        if self.function is None:
            raise InputError(
                f"the function of {self!r} is not in the file it was read from; create the flow "
                "again with pk.Flow(function, d)"
            )
        if frozen is not None and len(frozen):
            raise InputError("a Flow takes no frozen tokens; include them in its function")
        xp = array_namespace(tokens)
        force = xp.asarray(self.function(t, tokens))
        if force.shape != tokens.shape:
            raise InputError(
                f"the function of {self!r} must return an array of shape {tuple(tokens.shape)}, "
                f"got {tuple(force.shape)}"
            )
        return force - xp.sum(tokens * force, axis=-1, keepdims=True) * tokens

    def data(self) -> dict[str, Any]:
        """All arguments except the function, which cannot be stored in a file."""
        return {
            "d": self.d,
            "causal": self.triangular,
            "autonomous": self.autonomous,
            "sharpness": self.sharpness,
            "rate": self.rate,
            "label": self._label,
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Any:
        """A flow without its function."""
        return cls(None, **data)
