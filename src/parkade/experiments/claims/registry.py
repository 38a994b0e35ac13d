"""Every claim by name."""

from __future__ import annotations

from parkade.experiments.claim import Claim
from parkade.experiments.claims.causal import (
    capture,
    centers,
    clouds,
    cluster_law,
    energies,
    first_token,
    one_cluster,
    one_point,
    renyi_count,
    strong_count,
    strong_stay,
    table,
    two_points,
)
from parkade.experiments.claims.field import (
    collapse_masks,
    equiangular,
    first_state,
    full_metastable,
    hardmax,
    long_context,
    lost_middle,
    mlp_gradient,
    noise_kind,
    norm_rates,
    norm_start,
    random_layers,
    synchrony,
)
from parkade.experiments.claims.ours import (
    causal_ends,
    certified,
    coarsening,
    drift,
    forecast,
    last_merge,
    lifetime,
    noise_threshold,
    theorem_limit,
)
from parkade.experiments.claims.trained import ends, leaders, mlp, orbits, spectra
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
        collapse_masks.CLAIM,
        mlp_gradient.CLAIM,
        random_layers.CLAIM,
        lost_middle.CLAIM,
        noise_kind.CLAIM,
        spectra.NEGATIVE,
        spectra.REAL,
        ends.CLAIM,
        leaders.CLAIM,
        mlp.CLAIM,
        orbits.CLAIM,
        theorem_limit.CLAIM,
        certified.CLAIM,
        forecast.CLAIM,
        lifetime.CLAIM,
        drift.CLAIM,
        coarsening.CLAIM,
        last_merge.CLAIM,
        causal_ends.CLAIM,
        noise_threshold.CLAIM,
    )
)
"""Every claim by name, by paper: the first in its own order; ours come last."""
