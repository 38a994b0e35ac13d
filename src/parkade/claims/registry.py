"""Every claim by name."""

from __future__ import annotations

from parkade.claims import cluster_law, strong_count
from parkade.claims.claim import Claim

CLAIMS: dict[str, Claim] = {
    claim.name: claim
    for claim in (
        strong_count.CLAIM,
        *cluster_law.CLAIMS,
    )
}
"""Every claim by name, in the paper's order."""
