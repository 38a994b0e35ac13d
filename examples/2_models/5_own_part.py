"""
Can I add a force of my own?
============================

**Answer.** Yes: a part is a frozen dataclass with a ``kind`` and a ``force``. This one is a wind
towards the north pole. Everything else, implicit steps, merge trees, plots and files, works with
it.
"""

from dataclasses import dataclass

import parkade as pk
from parkade import plots


@dataclass(frozen=True, eq=False)
class Wind(pk.Part, kind="wind of the gallery"):
    """A constant force on every token."""

    direction: tuple[float, ...]

    def force(self, tokens, around):
        """The same for all."""
        return 0 * tokens + pk.like(self.direction, tokens)


x0 = pk.sphere.uniform(20, 3, seed=1)
figure = plots.new_figure(7.0, 3.7)
for strength, ax in zip((0.0, 0.3), figure.subplots(1, 2), strict=True):
    model = pk.Transformer([pk.Head(d=3, beta=9.0)], parts=[Wind((0.0, 0.0, strength))])
    run = pk.simulate(model, x0, t_end=20.0)
    print(f"wind {strength}: mean height {run.final[:, 2].mean():.2f}")
    plots.sphere(run, ax=ax)
    ax.set_title(f"wind {strength}")
figure
