"""RoBERTa, XLM-RoBERTa and CamemBERT: BERT with places counted behind the id of the padding."""

from __future__ import annotations

from dataclasses import replace

from parkade.trained.block import Ends, Shape
from parkade.trained.families import bert
from parkade.trained.families.common.family import Family
from parkade.trained.families.common.settings import ModelSettings
from parkade.trained.families.common.take import Take


def _shape(settings: ModelSettings) -> Shape:
    shape = bert.decoder_or_encoder(settings, bert.shape_of(settings, "roberta"))
    return replace(shape, longest=shape.longest - _padding(settings) - 1)


def _padding(settings: ModelSettings) -> int:
    return settings.index("pad_token_id", 1)


def _ends(take: Take, settings: ModelSettings, shape: Shape) -> Ends:
    at = "lm_head."
    names = bert.HeadNames(f"{at}dense", f"{at}layer_norm", f"{at}decoder", f"{at}bias")
    ends = bert.ends_of(take, settings, shape, shape.d, names)
    head = None if ends.head is None else replace(ends.head, activation="gelu")
    return replace(ends, padding=_padding(settings), head=head)


ROBERTA = Family(
    "roberta",
    {"roberta": {}, "xlm-roberta": {}, "camembert": {}},
    "roberta.",
    _shape,
    bert.block,
    _ends,
)
