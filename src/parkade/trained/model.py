"""`Trained`: a trained transformer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from parkade.base import check, progress
from parkade.base.errors import InputError
from parkade.base.types import Array, Seed
from parkade.model.transformer import Transformer
from parkade.runs.path import Path
from parkade.trained import changes, flows, reading
from parkade.trained.block import Block, Ends, Floats, Shape
from parkade.trained.reading import Reading
from parkade.trained.tokens import Tokenizer

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True, eq=False, repr=False)
class Trained:
    """A trained transformer: made by `parkade.trained.load`.

    Attributes
    ----------
    name : str
    shape : Shape
        Sizes and choices.
    dtype : dtype
        float32 or float64: of the weights and of the forward pass.
    tokenizer : Tokenizer or None

    Examples
    --------
    >>> import parkade as pk
    >>> model = pk.trained.load("ALBERT-rxn", download=True)
    >>> model.d, model.layers, model.head_count, model.causal
    (256, 12, 8, False)
    >>> model.tied().label
    '8 heads, full mask'
    >>> model.iterate("CCO.CC(=O)O>>CC(=O)OCC", times=20)
    Path(23 tokens in d=256, t=0…20, 21 times)
    """

    name: str
    shape: Shape
    dtype: np.dtype[Any]
    make_block: Callable[[int], Block] = field(repr=False)
    make_ends: Callable[[], Ends] = field(repr=False)
    tokenizer: Tokenizer | None = None
    _blocks: dict[int, Block] = field(default_factory=dict)
    _ends: list[Ends] = field(default_factory=list)
    _rates: dict[int, float] = field(default_factory=dict)

    @property
    def family(self) -> str:
        """The name of its architecture."""
        return self.shape.family

    @property
    def d(self) -> int:
        """The dimension of tokens."""
        return self.shape.d

    @property
    def layers(self) -> int:
        """Number of layers, counting those that share weights."""
        return self.shape.layers

    @property
    def head_count(self) -> int:
        """Number of heads in each layer."""
        return self.shape.heads

    @property
    def causal(self) -> bool:
        """Whether tokens see only earlier ones."""
        return self.shape.causal

    def __repr__(self) -> str:
        kind = "causal" if self.causal else "encoder"
        return (
            f"Trained({self.name!r}: {self.family}, {kind}, {self.layers} layers of "
            f"{self.head_count} heads, d={self.d})"
        )

    def number(self, layer: Any) -> int:
        """The number of a layer, checked; negative ones count from the end."""
        whole = isinstance(layer, (int, np.integer)) and not isinstance(layer, bool)
        if not whole or not -self.layers <= layer < self.layers:
            raise InputError(
                f"layer must be a whole number from 0 to {self.layers - 1}, got "
                f"{check.brief(layer)}"
            )
        return int(layer) % self.layers

    def block(self, layer: int) -> Block:
        """The weights of a layer in canonical form; read when first asked for."""
        return self.block_of(self.shape.weights_of(self.number(layer)))

    def block_of(self, which: int) -> Block:
        """The weights with this number, which some layers may share."""
        if which not in self._blocks:
            self._blocks[which] = self.make_block(which)
        return self._blocks[which]

    @property
    def ends(self) -> Ends:
        """What comes before the first layer and after the last."""
        if not self._ends:
            self._ends.append(self.make_ends())
        return self._ends[0]

    def ends_with_head(self) -> Ends:
        """The same, if logits can be computed."""
        if self.ends.head is None:
            raise InputError(f"{self.name} has no weights for logits: it was trained without")
        return self.ends

    def encode(self, text: str) -> list[int]:
        """The ids of a text."""
        if self.tokenizer is None:
            raise InputError(
                f"{self.name} has no tokenizer of a known kind, such as a tokenizer.json; pass ids "
                "instead of text"
            )
        return self.tokenizer.encode(check.text(text))

    def decode(self, ids: ArrayLike) -> str:
        """The text of ids."""
        if self.tokenizer is None:
            raise InputError(f"{self.name} has no tokenizer, so ids have no text")
        return self.tokenizer.decode(reading.checked_ids(self, ids).tolist())

    def read(
        self, text: str | ArrayLike, *, attention: bool = False, progress: bool = False
    ) -> Reading:
        """Pass a text through the model and keep the tokens after every layer.

        Parameters
        ----------
        text : str or list of int
            A text, or the ids of its tokens.
        attention : bool
            Whether to keep the weights of all heads, which takes layers·heads·n² numbers.
        progress : bool
            Whether to show a bar.
        """
        ids = reading.checked_ids(self, self.encode(text) if isinstance(text, str) else text)
        with _bar(f"reading with {self.name}", progress) as report:
            return reading.read(self, ids, attention, report)

    def read_many(
        self, texts: Iterable[str | ArrayLike], *, progress: bool = False
    ) -> list[Reading]:
        """`read` for each of several texts."""
        listed = list(texts)
        with _bar(f"reading {len(listed)} texts with {self.name}", progress) as report:
            read = []
            for i, text in enumerate(listed):
                read.append(self.read(text))
                report((i + 1) / len(listed))
        return read

    def attention_at(self, layer: int, states: Floats) -> Floats:
        """The weights of all heads of a layer, (heads, n, n), at the tokens before it."""
        return reading.attention_at(self, layer, states)

    def heads(
        self, *, draws: int | None = None, seed: Seed = 0, progress: bool = False
    ) -> xarray.Dataset:
        """One row per head: spectrum of V, row of Table 1, effective β, and random ones beside.

        See `parkade.trained.heads.table`.
        """
        from parkade.trained import heads

        return heads.table(self, draws, seed, progress)

    def meaning(self, layers: Sequence[int] | int | None = None, **options: Any) -> xarray.Dataset:
        """What each head writes and reads, in words, with nulls.

        See `parkade.trained.meaning.table.meaning`, which has the options.
        """
        from parkade.trained.meaning import table

        return table.meaning(self, layers, **options)

    def context(
        self,
        texts: Sequence[str | ArrayLike] | None = None,
        lengths: Sequence[int] | None = None,
        *,
        progress: bool = False,
    ) -> xarray.Dataset:
        """How the attention of each head changes with the length of a text; measured.

        See `parkade.trained.context.context`.
        """
        from parkade.trained import context

        return context.context(self, texts, lengths, progress=progress)

    def layer(self, layer: int, *, attention: bool = True, mlp: bool = True) -> Transformer:
        """A layer as a parkade model of unit tokens; see `parkade.trained.flows`."""
        return flows.layer(self, self.number(layer), attention, mlp)

    def tied(self, layer: int | None = None, *, mlp: bool = False) -> Transformer:
        """A layer as a flow on the sphere that goes on for ever; see `parkade.trained.flows`."""
        from parkade.trained import repeat

        return flows.tied(self, repeat.which(self, layer), mlp)

    def directions(self, states: ArrayLike) -> Array:
        """The unit vectors that the model's norm makes of states, (..., d), before its gain."""
        return flows.directions(self, np.asarray(states))

    def sum_of_values(self, layer: int) -> Array:
        """Σ_h V_h of a layer, (d, d), with the gain of the norm before it."""
        return flows.sum_of_values(self, self.number(layer))

    def rate(self, layer: int) -> float:
        """√d·Re λ_max(Σ_h V_h) of a layer: per length |x|, this is the τ of the layer."""
        which = self.number(layer)
        if which not in self._rates:
            top = np.linalg.eigvals(self.sum_of_values(which)).real.max()
            self._rates[which] = math.sqrt(self.d) * float(top)
        return self._rates[which]

    def without(self, what: str) -> Trained:
        """The model without its MLPs, or without its attention."""
        return changes.without(self, what)

    def shuffled(self, seed: Seed = 0) -> Trained:
        """The model with the entries of each matrix of its layers permuted."""
        return changes.shuffled(self, seed)

    def redrawn(self, seed: Seed = 0, what: str = "all") -> Trained:
        """The model with Gaussian matrices in its layers, with the same second moments.

        `what` is "all", "mlp", or "values": the matrices V and O of attention.
        """
        return changes.redrawn(self, seed, what)

    def with_axis(
        self, layer: int, head: int, change: Literal["remove", "flip"] | float
    ) -> Trained:
        """The model with the component of tokens along what a head writes scaled, before its layer.

        "remove" is the factor 0, "flip" −1. See `parkade.trained.meaning.edits`.
        """
        from parkade.trained.meaning import edits

        return edits.with_axis(self, layer, head, change)

    def with_spectrum(
        self, layer: int, head: int, *, positive: float = 1.0, negative: float = 1.0
    ) -> Trained:
        """The model with the eigenvalues of V of a head multiplied, by the sign of their real part.

        See `parkade.trained.meaning.edits`.
        """
        from parkade.trained.meaning import edits

        return edits.with_spectrum(self, layer, head, positive, negative)

    def iterate(self, start: str | ArrayLike, layer: int | None = None, times: int = 400) -> Path:
        """A layer applied again and again, as trained.

        Parameters
        ----------
        start : str, ids, or (n, d) array
            A text, or states such as `reading.hidden[0]`.
        layer : int, optional
            The layer to repeat; not needed if all layers are the same.
        times : int
            Number of times that it is applied.

        Returns
        -------
        Path
            Directions and lengths before the first time and after each.
        """
        from parkade.trained import repeat

        return repeat.iterate(self, start, layer, times)


def _bar(label: str, show: bool) -> Any:
    return progress.bar(label, show=show, remind=True)
