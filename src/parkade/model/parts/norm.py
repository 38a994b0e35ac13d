"""Normalisations: how fast a force moves a token, and what it does to its length.

Token k has a direction θ_k on the sphere and, under some normalisations, a length r_k. A force F
moves them by

    dθ_k/dt = (1/s_k) P_{θ_k} F_k,      d ln r_k/dt = (1/s_k) ⟨θ_k, F_k⟩  or  0,

so a normalisation is a clock s_k for each token.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from typing import Any, ClassVar

from parkade.base import check
from parkade.base.errors import InputError
from parkade.model.model import Storable


@dataclass(frozen=True)
class Norm(Storable):
    """The normalisation of a transformer.

    Attributes
    ----------
    name : str
        Its name in arguments and files.
    radii : bool
        Whether tokens have lengths.
    autonomous : bool
        Whether it does not depend on the time.
    uses_force : bool
        Whether the size of the force matters, so that adding a multiple of θ_k changes the motion.
    """

    name: ClassVar[str]
    radii: ClassVar[bool] = False
    autonomous: ClassVar[bool] = True
    uses_force: ClassVar[bool] = False

    def clock(self, xp: Any, force: Any, radii: Any, t: float) -> Any:
        """s_k, (..., n, 1) or a number, for a force (..., n, d) and lengths (..., n, 1)."""
        return 1.0

    def grows(self, t: float) -> bool:
        """Whether the lengths change at time t."""
        return self.radii

    def data(self) -> dict[str, Any]:
        """The fields of the dataclass."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}

    def __str__(self) -> str:
        values = ", ".join(repr(value).removesuffix(".0") for value in self.data().values())
        return f"{self.name}({values})" if values else self.name


@dataclass(frozen=True)
class Post(Norm, kind="post"):
    """After each layer, x ← N(x + F): s = 1, and tokens have no length.

    Examples
    --------
    >>> import parkade as pk
    >>> pk.Transformer([pk.Head(d=2)], norm="post").norm == pk.Post()
    True
    """

    name = "post"


@dataclass(frozen=True)
class Pre(Norm, kind="pre"):
    """Before each layer, x ← x + F(N x): s = r, and tokens grow longer and slower.

    Examples
    --------
    >>> import parkade as pk
    >>> x0 = pk.sphere.uniform(10, 2, seed=1)
    >>> path = pk.forward(pk.Transformer([pk.Head(d=2)], norm=pk.Pre()), x0, 12)
    >>> bool((path.radii[-1] > path.radii[0]).all())
    True
    """

    name = "pre"
    radii = True

    def clock(self, xp: Any, force: Any, radii: Any, t: float) -> Any:
        """The length of a token."""
        return radii


@dataclass(frozen=True)
class Mix(Norm, kind="mix"):
    """Post-norm until the time `tau`, then pre-norm.

    Examples
    --------
    >>> import parkade as pk
    >>> norm = pk.Mix(tau=5.0)
    >>> norm.grows(4.0), norm.grows(6.0), str(norm)
    (False, True, 'mix(5)')
    """

    tau: float = 1.0
    name = "mix"
    radii = True
    autonomous = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau", check.positive("tau", self.tau))

    def clock(self, xp: Any, force: Any, radii: Any, t: float) -> Any:
        """1 until the time `tau`, later the length of a token."""
        return radii if self.grows(t) else 1.0

    def grows(self, t: float) -> bool:
        """Whether the time is at least `tau`."""
        return t >= self.tau


@dataclass(frozen=True)
class Peri(Norm, kind="peri"):
    """Before and after each layer, x ← x + N F(N x): s = r |F|.

    Examples
    --------
    >>> import parkade as pk
    >>> pk.Transformer([pk.Head(d=2)], norm=pk.Peri()).label
    'β = 1, peri-norm, causal mask'
    """

    name = "peri"
    radii = True
    uses_force = True

    def clock(self, xp: Any, force: Any, radii: Any, t: float) -> Any:
        """The length of a token times that of the force."""
        return radii * _length(xp, force)


@dataclass(frozen=True)
class NGPT(Norm, kind="ngpt"):
    """As in nGPT, h ← N(h + α (N F(h) − h)): s = |F|/α, and tokens have no length.

    Examples
    --------
    >>> import parkade as pk
    >>> str(pk.NGPT(alpha=0.1))
    'ngpt(0.1)'
    >>> pk.Transformer([pk.Head(d=2)], norm="ngpt(0.1)").norm == pk.NGPT(alpha=0.1)
    True
    """

    alpha: float = 1.0
    name = "ngpt"
    uses_force = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", check.positive("alpha", self.alpha))

    def clock(self, xp: Any, force: Any, radii: Any, t: float) -> Any:
        """The size of the force, divided by α."""
        return _length(xp, force) / self.alpha


@dataclass(frozen=True)
class Sqrt(Norm, kind="sqrt"):
    """Layers scaled down by the root of their number: s = √(t + 1), and tokens have no length.

    Examples
    --------
    >>> import parkade as pk
    >>> pk.Sqrt().clock(None, None, None, t=3.0)
    2.0
    """

    name = "sqrt"
    autonomous = False

    def clock(self, xp: Any, force: Any, radii: Any, t: float) -> Any:
        """The root √(t + 1), for all tokens."""
        return (t + 1.0) ** 0.5


NORMS: dict[str, Norm] = {
    norm.name: norm for norm in (Post(), Pre(), Mix(), Peri(), NGPT(), Sqrt())
}
"""Normalisations by name."""

_NAME = re.compile(r"(mix|ngpt)\(([\w.+-]{1,30})\)")


def read(value: Any) -> Norm:
    """A normalisation from an object, or from its name: "pre", or "mix(5)" with a number."""
    if isinstance(value, Norm):
        return value
    if isinstance(value, str) and value in NORMS:
        return NORMS[value]
    if isinstance(value, str) and (match := _NAME.fullmatch(value)):
        try:
            number = float(match[2])
            return Mix(number) if match[1] == "mix" else NGPT(number)
        except ValueError:
            pass  # not a number
    names = ", ".join(repr(name) for name in NORMS)
    raise InputError(
        f"norm must be one of {names}, 'mix(5)', 'ngpt(0.1)', or an object such as pk.Mix(tau=5), "
        f"got {check.brief(value)}"
    )


def _length(xp: Any, force: Any) -> Any:
    return xp.sqrt(xp.sum(force * force, axis=-1, keepdims=True))
