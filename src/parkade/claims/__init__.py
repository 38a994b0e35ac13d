"""Every claim of the paper, put to the test: one short module for each.

Karagodin, Polyanskiy, Rigollet, "Clustering in Causal Attention Masking", NeurIPS 2024.
"""

from __future__ import annotations

from parkade.claims import strong_count
from parkade.claims.claim import Claim, Effort, Evidence
from parkade.claims.verify import Result, verify

CLAIMS: dict[str, Claim] = {
    claim.name: claim
    for claim in (
        strong_count.CLAIM,
    )
}
"""Every claim by name, in the paper's order."""

__all__ = ["CLAIMS", "Claim", "Effort", "Evidence", "Result", "verify"]
