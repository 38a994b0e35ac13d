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
    collapse_masks,
    drift,
    energies,
    first_token,
    forecast,
    hardmax,
    last_merge,
    lifetime,
    lost_middle,
    mlp_gradient,
    one_cluster,
    one_point,
    random_layers,
    renyi_count,
    strong_count,
    strong_stay,
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
        hardmax.CLAIM,
        collapse_masks.CLAIM,
        mlp_gradient.CLAIM,
        random_layers.CLAIM,
        lost_middle.CLAIM,
        forecast.CLAIM,
        lifetime.CLAIM,
        drift.CLAIM,
        coarsening.CLAIM,
        last_merge.CLAIM,
        causal_ends.CLAIM,
    )
)
"""Every claim by name, in the paper's order; ours come last."""
