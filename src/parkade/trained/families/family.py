"""`Family`: how an architecture is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from parkade.trained.block import Block, Ends, Shape
from parkade.trained.families.take import ModelSettings, Take


@dataclass(frozen=True, eq=False)
class Family:
    """How the files of an architecture become the canonical form.

    Attributes
    ----------
    name : str
    types : tuple of str
        What `model_type` in its config.json may be.
    prefix : str
        What the names of its tensors may begin with.
    shape : function
        Makes sizes and choices from settings.
    block : function
        Makes a layer from tensors, settings, shape and the number of its weights.
    ends : function
        Makes what comes before and after the layers from tensors, settings and shape.
    """

    name: str
    types: tuple[str, ...]
    prefix: str
    shape: Callable[[ModelSettings], Shape]
    block: Callable[[Take, ModelSettings, Shape, int], Block]
    ends: Callable[[Take, ModelSettings, Shape], Ends]
