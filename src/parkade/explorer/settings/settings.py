"""`Settings`: what a user can choose in the explorer. Each setting is declared here, once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from parkade.analysis.centers import KINDS, separation
from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.explorer.settings.kinds import Choice, Matrix, Number, Seed, WholeNumber
from parkade.explorer.settings.parts import NORMS, assemble, scheduled
from parkade.explorer.settings.schema import Derived, FieldError, SettingField, Slider, declared
from parkade.model import sphere
from parkade.model.model import Model
from parkade.model.transformer import Transformer
from parkade.theory import paper

HELD = "frozen={kind} holds all {n} tokens and leaves none to move; raise c or n, or choose 'none'"
"""The sentence where nothing is left to move."""


@dataclass(frozen=True)
class Refused:
    """Settings that do not go together: each of `unless` has another value than these."""

    field: str
    sentence: str
    unless: Mapping[str, tuple[Any, ...]]
    only: Mapping[str, tuple[Any, ...]]

    def applies(self, chosen: Mapping[str, Any]) -> bool:
        """Whether these settings are refused."""
        others = all(chosen[name] not in values for name, values in self.unless.items())
        return others and all(chosen[name] in values for name, values in self.only.items())


REFUSED = (
    Refused(
        "growth",
        "β cannot grow while the norm changes; choose growth 0 or another norm",
        unless={"growth": (0,)},
        only={"norm": ("mix",)},
    ),
    Refused(
        "encoding",
        "frozen tokens have no position; choose encoding or frozen 'none'",
        unless={"encoding": ("none",), "frozen": ("none",)},
        only={},
    ),
)
"""What is refused of settings that are right by themselves."""

_PARTS = "Transformer"
_DELTA = Derived("δ", "*cβ*⁻¹ᐟ²", {"c": 1.0, "beta": -0.5}, most=math.pi)


@dataclass(frozen=True)
class Settings:
    """One run of the explorer.

    Attributes
    ----------
    n, d, beta : int, int, float
        Tokens, dimension and β.
    c : float
        Centres are separated by the angle δ = cβ^{-1/2}, or π if that is more.
    T : float
        Final time.
    V, Q, K : str
        "I", a number, a diagonal "1,1,-1", rows "0,-1;1,0", or "random:SEED".
    mask : "causal", "full", "window" or "prefix"
    reach : int
        The number of tokens of a window or a prefix.
    frozen : "none", "renyi" or "strong"
        Which centres of the start stay where they are. All tokens attend to them.
    seed : int
        Seed of the uniform start.
    norm, heads, rank, mlp, gain, sample, encoding, slope, noise
        The parts of a transformer: see `parkade.explorer.settings.parts`.
    growth : float
        b of β(t) = β + b ln(1 + t); 0 for a constant β.

    Examples
    --------
    >>> from parkade.explorer import Settings
    >>> Settings.read({"n": 200, "d": 2, "beta": 64}).delta
    0.5
    """

    # fmt: off
    n: Annotated[int, WholeNumber(
        symbol="n", label="tokens", low=1, high=2000, slider=Slider(2, 2000, log=True),
        caption="always",
    )] = 32
    d: Annotated[int, WholeNumber(
        symbol="d", label="dimension", low=2, high=64, slider=Slider(2, 16), caption="always",
        resets_view=True,
    )] = 3
    beta: Annotated[float, Number(
        symbol="β", label="sharpness", low=0.0, high=1e6, slider=Slider(0.1, 1000.0, log=True),
        caption="always",
    )] = 9.0
    c: Annotated[float, Number(
        symbol="c", label="separation of centres", low=1e-3, high=1e3, slider=Slider(0.5, 8.0),
        derived=_DELTA, caption="never",
    )] = paper.SEPARATION
    T: Annotated[float, Number(
        symbol="T", label="final time", low=1e-3, high=1e60, slider=Slider(1.0, 1e60, log=True),
        caption="never",
    )] = 1000.0
    V: Annotated[str, Matrix(symbol="V", label="values", size="d")] = "I"
    Q: Annotated[str, Matrix(symbol="Q", label="queries", size="d")] = "I"
    K: Annotated[str, Matrix(symbol="K", label="keys", size="d")] = "I"
    mask: Annotated[str, Choice(
        label="attention",
        options={"causal": "causal", "full": "full", "window": "window", "prefix": "prefix"},
        caption="always", phrase="{} attention",
    )] = "causal"
    reach: Annotated[int, WholeNumber(
        label="of how many tokens", low=1, high=2000, slider=Slider(1, 128, log=True),
        caption="always", phrase="over {} tokens", idle={"mask": ("causal", "full")},
    )] = 16
    frozen: Annotated[str, Choice(
        label="frozen", options={"none": "none", "renyi": "Rényi", "strong": "strong"},
        phrase="frozen {} centres",
    )] = "none"
    seed: Annotated[int, Seed(
        symbol="seed", label="of the start", next_label="Another random start", caption="always",
        phrase="seed {}",
    )] = 1
    norm: Annotated[str, Choice(
        label="norm", options=NORMS, phrase="{}", group=_PARTS,
        help="How fast a token moves. Under pre- and peri-norm it grows longer, and so slower.",
    )] = "post"
    heads: Annotated[int, WholeNumber(
        label="heads", low=1, high=8, slider=Slider(1, 8), phrase="{} heads", group=_PARTS,
        help="Several compare tokens along random directions of their own. Their values add up "
        "to V.",
    )] = 1
    rank: Annotated[int, WholeNumber(
        label="directions of each", low=1, high=64, slider=Slider(1, 16), caption="always",
        phrase="of rank {}", group=_PARTS, idle={"heads": (1,)},
    )] = 1
    mlp: Annotated[int, WholeNumber(
        label="width of the MLP", low=0, high=256, slider=Slider(0, 64), phrase="MLP of width {}",
        group=_PARTS, help="A random network moves each token by itself; 0 for none.",
    )] = 0
    gain: Annotated[float, Number(
        label="strength of the MLP", low=0.0, high=100.0, slider=Slider(0.0, 2.0),
        caption="always", phrase="strength {}", group=_PARTS, idle={"mlp": (0,)},
    )] = 0.5
    sample: Annotated[int, Seed(
        symbol="sample", label="of heads, MLP", next_label="Other random heads and another MLP",
        phrase="sample {}", group=_PARTS, idle={"heads": (1,), "mlp": (0,)},
    )] = 1
    encoding: Annotated[str, Choice(
        label="position", options={"none": "none", "rope": "RoPE", "alibi": "ALiBi"}, phrase="{}",
        group=_PARTS, help="RoPE turns queries and keys by place; ALiBi favours tokens nearby.",
    )] = "none"
    slope: Annotated[float, Number(
        label="slope of ALiBi", low=0.0, high=100.0, slider=Slider(0.001, 1.0, log=True),
        caption="always", phrase="slope {}", group=_PARTS, idle={"encoding": ("none", "rope")},
    )] = 0.1
    growth: Annotated[float, Number(
        symbol="b", label="growth of β", low=0.0, high=100.0, slider=Slider(0.0, 4.0),
        phrase="β(t) = β + {} ln(1 + t)", group=_PARTS,
        help="Attention grows sharper with depth: β(t) = β + b ln(1 + t); 0 for a constant β.",
    )] = 0.0
    noise: Annotated[float, Number(
        label="noise 1/κ", low=0.0, high=1000.0, slider=Slider(0.0, 1.0), phrase="noise 1/κ = {}",
        group=_PARTS, help="Brownian motion of each token, at the temperature 1/κ; 0 for none.",
    )] = 0.0
    # fmt: on

    no_object: ClassVar[str] = "settings must be one JSON object, got {got}"
    no_setting: ClassVar[str] = "there is no setting {got}; the settings are {known}"

    def __post_init__(self) -> None:
        values = _each({n: (field.read, n, getattr(self, n)) for n, field in FIELDS.items()})
        for name, value in values.items():
            object.__setattr__(self, name, value)
        for rule in REFUSED:
            if rule.applies(values):
                raise FieldError(rule.field, rule.sentence)
        self.model  # noqa: B018  raises if a matrix is wrong

    @classmethod
    def read(cls, data: Any) -> Settings:
        """Settings from decoded JSON; what is left out has its default."""
        if not isinstance(data, Mapping):
            raise FieldError(None, cls.no_object.format(got=check.brief(data)))
        for key in data:
            if key not in FIELDS:
                known = ", ".join(FIELDS)
                raise FieldError(
                    str(key)[:60], cls.no_setting.format(got=check.brief(key), known=known)
                )
        return cls(**data)

    def to_dict(self) -> dict[str, Any]:
        """All settings, as `read` takes them."""
        return asdict(self)

    @cached_property
    def model(self) -> Model:
        """The model that these settings describe."""
        return scheduled(self.layer, self.growth, self.T)

    @cached_property
    def layer(self) -> Transformer:
        """The model at the start, where β has not grown yet."""
        matrices = _each(
            {
                name: (field.matrix, name, getattr(self, name), getattr(self, field.size))
                for name, field in FIELDS.items()
                if isinstance(field, Matrix)
            }
        )
        return assemble(self.to_dict(), matrices)

    @cached_property
    def start(self) -> Array:
        """The tokens at time 0, (n, d)."""
        return sphere.uniform(self.n, self.d, self.seed)

    @property
    def delta(self) -> float:
        """The angle by which centres are separated."""
        return separation(self.c, self.beta)

    @cached_property
    def held(self) -> NDArray[np.int64]:
        """Indices of the tokens of the start that are frozen, increasing."""
        if self.frozen == "none":
            return np.empty(0, dtype=np.int64)
        indices = KINDS[self.frozen](self.start, self.delta)
        if len(indices) == self.n:
            raise FieldError("frozen", HELD.format(kind=repr(self.frozen), n=self.n))
        return indices


FIELDS: dict[str, SettingField] = declared(Settings)
"""The declarations of all settings, by name."""


def _each(calls: Mapping[str, tuple[Callable[..., Any], *tuple[Any, ...]]]) -> dict[str, Any]:
    """What a function of each setting returns; the error names all settings that are wrong."""
    results, wrong = {}, []
    for name, (read, *arguments) in calls.items():
        try:
            results[name] = read(*arguments)
        except InputError as error:
            wrong.append(FieldError(name, str(error)))
    if wrong:
        wrong[0].others = wrong[1:]
        raise wrong[0]
    return results
