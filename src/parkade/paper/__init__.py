"""The paper's figures and tables, made again from scratch: one short file for each.

Karagodin, Polyanskiy, Rigollet, "Clustering in Causal Attention Masking", NeurIPS 2024.
"""

from parkade.paper.item import Item, Job, Made, Picture
from parkade.paper.registry import FIGURES
from parkade.paper.reproduce import Result, reproduce

__all__ = ["FIGURES", "Item", "Job", "Made", "Picture", "Result", "reproduce"]
