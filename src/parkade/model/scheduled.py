"""`Scheduled`: attention whose inverse temperature changes with time."""

from __future__ import annotations

from typing import Any

from parkade.base import check
from parkade.base.errors import InputError
from parkade.model import matrices
from parkade.model.layers import Layers
from parkade.model.model import Model, from_dict
from parkade.model.schedule import Schedule
from parkade.model.transformer import Transformer


class Scheduled(Layers, kind="scheduled"):
    """A model with β(t) in place of β: `Layers` that differ in β only.

    ``pk.simulate(model, tokens, t_end, schedule=schedule)`` is short for
    ``pk.simulate(pk.Scheduled(model, schedule), tokens, t_end)``.

    Parameters
    ----------
    model : Attention, or a Transformer whose heads have the same β
    schedule : Schedule

    Examples
    --------
    >>> import parkade as pk
    >>> model = pk.Scheduled(pk.Attention(d=2), pk.Schedule([0, 100], [16, 64]))
    >>> model.label
    'β(t) from 16 to 64, causal mask'
    >>> model.at(100.0)
    Attention(d=2, beta=64, mask='causal')
    """

    def __init__(self, model: Model, schedule: Schedule) -> None:
        if not isinstance(schedule, Schedule):
            raise InputError(
                f"schedule must be a pk.Schedule, got {check.brief(schedule)}; use "
                "pk.Schedule(times, beta) or pk.Schedule.of(function, t_end)"
            )
        if not isinstance(model, Transformer) or model.beta is None:
            raise InputError(
                "a schedule replaces the β that all heads of a model have in common, got "
                f"{check.brief(model)}; use pk.Layers(times, models) for other models"
            )
        super().__init__(schedule.times, [model.with_beta(beta) for beta in schedule.beta])
        self.model, self.schedule = model, schedule
        self._old_beta = model.beta

    def __repr__(self) -> str:
        return f"Scheduled({self.model!r}, {self.schedule!r})"

    @property
    def label(self) -> str:
        """The values of β, and the rest of the model."""
        beta = self.schedule.beta
        ends, limits = {beta[0], beta[-1]}, {beta.min(), beta.max()}
        first, last, low, high = (
            matrices.number(float(value)) for value in (beta[0], beta[-1], beta.min(), beta.max())
        )
        values = f"from {first} to {last}" if ends == limits else f"between {low} and {high}"
        rest = self.model.label.removeprefix(f"β = {matrices.number(self._old_beta)}, ")
        return f"β(t) {values if len(limits) > 1 else f'= {first}'}, {rest}"

    def data(self) -> dict[str, Any]:
        """The model and the schedule."""
        return {"model": self.model, "schedule": self.schedule}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Any:
        """The model with this schedule."""
        return cls(**{name: from_dict(value) for name, value in data.items()})
