"""What the hidden states of texts show, each measure with its nulls and the number of texts.

Measures take the hidden states of several texts, a list of (L+1, n, d) arrays as `Reading.hidden`
holds them, and return a `Measured`. Nothing here knows a model: all states are arrays.
"""

from parkade.trained.measures.capture import CAPTURE_RULES, capture, earlier_pull, pulls
from parkade.trained.measures.centers import (
    Count,
    center_counts,
    expected_strong,
    half_radius,
    neighbours,
    spread_strong,
)
from parkade.trained.measures.cloud import (
    close_share,
    cluster_count,
    effective_rank,
    energy,
    mean_cosine,
)
from parkade.trained.measures.depth import over_depth
from parkade.trained.measures.endings import Ending, ending
from parkade.trained.measures.measured import Measured, sign_flip
from parkade.trained.measures.prepare import centred, find_sinks, without_tokens
from parkade.trained.measures.sinks import sink_scores, sink_share

__all__ = [
    "CAPTURE_RULES",
    "Count",
    "Ending",
    "Measured",
    "capture",
    "center_counts",
    "centred",
    "close_share",
    "cluster_count",
    "earlier_pull",
    "effective_rank",
    "ending",
    "energy",
    "expected_strong",
    "find_sinks",
    "half_radius",
    "mean_cosine",
    "neighbours",
    "over_depth",
    "pulls",
    "sign_flip",
    "sink_scores",
    "sink_share",
    "spread_strong",
    "without_tokens",
]
