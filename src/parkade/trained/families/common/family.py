"""`Family`: how an architecture is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from parkade.trained.block import Block, Ends, Shape
from parkade.trained.families.common.settings import ModelSettings
from parkade.trained.families.common.take import Take


@dataclass(frozen=True, eq=False)
class Family:
    """How the files of an architecture become the canonical form.

    Attributes
    ----------
    name : str
    types : mapping
        For each `model_type` that a config.json may have, the settings that Hugging Face's library
        assumes where config.json says nothing, unless they are those of the functions below.
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
    types: Mapping[str, Mapping[str, Any]]
    prefix: str
    shape: Callable[[ModelSettings], Shape]
    block: Callable[[Take, ModelSettings, Shape, int], Block]
    ends: Callable[[Take, ModelSettings, Shape], Ends]
