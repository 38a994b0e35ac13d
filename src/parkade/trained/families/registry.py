"""The architectures that are known."""

from __future__ import annotations

from typing import Any

from parkade.base import check
from parkade.base.errors import InputError
from parkade.trained.families.albert import ALBERT
from parkade.trained.families.bert import BERT
from parkade.trained.families.family import Family
from parkade.trained.families.gpt2 import GPT2
from parkade.trained.families.llama import LLAMA
from parkade.trained.families.neox import NEOX

FAMILIES: tuple[Family, ...] = (LLAMA, GPT2, NEOX, BERT, ALBERT)


def family_of(config: dict[str, Any]) -> Family:
    """The architecture of a model with these settings."""
    asked = config.get("model_type")
    for family in FAMILIES:
        if asked in family.types:
            return family
    known = ", ".join(name for family in FAMILIES for name in family.types)
    raise InputError(f"the architecture {check.brief(asked)} is unknown; known are {known}")
