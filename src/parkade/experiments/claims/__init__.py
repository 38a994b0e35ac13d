"""Every claim of the paper, put to the test: one short module for each.

Karagodin, Polyanskiy, Rigollet, "Clustering in Causal Attention Masking", NeurIPS 2024.
"""

from parkade.experiments.claims.claim import Claim, Effort, Evidence
from parkade.experiments.claims.registry import CLAIMS
from parkade.experiments.claims.verify import Result, to_json, verify

__all__ = ["CLAIMS", "Claim", "Effort", "Evidence", "Result", "to_json", "verify"]
