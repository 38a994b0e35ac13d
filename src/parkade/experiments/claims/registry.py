"""Every claim by name."""

from __future__ import annotations

from parkade.experiments.claim import Claim
from parkade.experiments.claims import (
    capture,
    causal_ends,
    centers,
    clouds,
    cluster_law,
    coarsening,
    drift,
    energies,
    equiangular,
    first_state,
    first_token,
    forecast,
    full_metastable,
    hardmax,
    last_merge,
    lifetime,
    long_context,
    norm_rates,
    norm_start,
    one_cluster,
    one_point,
    renyi_count,
    strong_count,
    strong_stay,
    synchrony,
    table,
    two_points,
)
from parkade.experiments.experiment import by_name

CLAIMS: dict[str, Claim] = by_name(
    (
        first_token.CLAIM,
        one_cluster.CLAIM,
        one_point.CLAIM,
        two_points.CLAIM,
        two_points.ANY_ATTENTION,
        clouds.CLOUD,
        clouds.TWO_CLOUDS,
        table.CLAIM,
        strong_stay.CLAIM,
        capture.CLAIM,
        energies.CLAIM,
        strong_count.CLAIM,
        renyi_count.CLAIM,
        centers.CLAIM,
        *cluster_law.CLAIMS,
        equiangular.CLAIM,
        norm_rates.CLAIM,
        norm_start.CLAIM,
        first_state.CLAIM,
        full_metastable.CLAIM,
        long_context.CLAIM,
        synchrony.CLAIM,
        synchrony.ON_CIRCLE,
        hardmax.CLAIM,
        forecast.CLAIM,
        lifetime.CLAIM,
        drift.CLAIM,
        coarsening.CLAIM,
        last_merge.CLAIM,
        causal_ends.CLAIM,
    )
)
"""Every claim by name, by paper: the first in its own order; ours come last."""
