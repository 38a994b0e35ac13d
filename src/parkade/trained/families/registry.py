"""The architectures that are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parkade.base import check
from parkade.base.errors import InputError
from parkade.trained.families.albert import ALBERT
from parkade.trained.families.bert import BERT
from parkade.trained.families.common.family import Family
from parkade.trained.families.distilbert import DISTILBERT
from parkade.trained.families.gemma import GEMMA
from parkade.trained.families.gpt2 import GPT2
from parkade.trained.families.llama import LLAMA
from parkade.trained.families.mistral import MISTRAL
from parkade.trained.families.neox import NEOX
from parkade.trained.families.olmo2 import OLMO2
from parkade.trained.families.opt import OPT
from parkade.trained.families.phi3 import PHI3
from parkade.trained.families.qwen import QWEN
from parkade.trained.families.roberta import ROBERTA
from parkade.trained.families.smollm3 import SMOLLM3

FAMILIES: tuple[Family, ...] = (
    LLAMA,
    MISTRAL,
    QWEN,
    GEMMA,
    PHI3,
    OLMO2,
    SMOLLM3,
    GPT2,
    NEOX,
    OPT,
    BERT,
    ROBERTA,
    DISTILBERT,
    ALBERT,
)


def family_of(config: Mapping[str, Any]) -> tuple[Family, Mapping[str, Any]]:
    """The architecture of a model with these settings, and settings that its type assumes."""
    asked = config.get("model_type")
    for family in FAMILIES:
        if isinstance(asked, str) and asked in family.types:
            return family, family.types[asked]
    known = ", ".join(name for family in FAMILIES for name in family.types)
    raise InputError(f"the architecture {check.brief(asked)} is unknown; known are {known}")
