"""The paper's figures and tables, made again from scratch: one short file for each.

Karagodin, Polyanskiy, Rigollet, "Clustering in Causal Attention Masking", NeurIPS 2024.
"""

from parkade.experiments.figures.item import Item, Job, Made, Picture
from parkade.experiments.figures.registry import FIGURES
from parkade.experiments.figures.reproduce import Result, reproduce

__all__ = ["FIGURES", "Item", "Job", "Made", "Picture", "Result", "reproduce"]
