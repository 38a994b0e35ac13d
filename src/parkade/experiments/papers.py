"""The papers whose claims are tested."""

from __future__ import annotations

from typing import NamedTuple

from parkade.experiments.experiment import CAUSAL_CLUSTERING, OURS, TRAINED


class Paper(NamedTuple):
    """A paper, as headings and lists show it."""

    authors: str
    """Last names, separated by commas."""
    year: int
    title: str


PAPERS: dict[str, Paper] = {
    CAUSAL_CLUSTERING: Paper(
        "Karagodin, Polyanskiy, Rigollet", 2024, "Clustering in causal attention masking"
    ),
    "2312.10794": Paper(
        "Geshkovski, Letrouit, Polyanskiy, Rigollet", 2023,
        "A mathematical perspective on transformers",
    ),
    "2405.18273": Paper(
        "Criscitiello, Rebjock, McRae, Boumal", 2024,
        "Synchronization on circles and spheres with nonlinear interactions",
    ),
    "2405.18781": Paper(
        "Wu, Ajorlou, Wang, Jegelka, Jadbabaie", 2024,
        "On the role of attention masks and LayerNorm in transformers",
    ),
    "2407.01602": Paper(
        "Alcalde, Fantuzzi, Zuazua", 2024, "Clustering in pure-attention hardmax transformers"
    ),
    "2410.06833": Paper(
        "Geshkovski, Koubbi, Polyanskiy, Rigollet", 2024,
        "Dynamic metastability in the self-attention model",
    ),
    "2410.23228": Paper(
        "Bruno, Pasqualotto, Agazzi", 2024,
        "Emergence of meta-stable clustering in mean-field transformer models",
    ),
    "2507.22857": Paper(
        "Polyanskiy, Rigollet, Yao", 2025, "Synchronization of mean-field models on the circle"
    ),
    "2510.05554": Paper(
        "Chen, Lin, Polyanskiy, Rigollet", 2025,
        "Critical attention scaling in long-context transformers",
    ),
    "2510.22026": Paper(
        "Karagodin, Ge, Polyanskiy, Rigollet", 2025, "Normalization in attention dynamics"
    ),
    "2601.21366": Paper(
        "Álvarez-López, Geshkovski, Ruiz-Balet", 2026,
        "Perceptrons and localization of attention's mean-field landscape",
    ),
    "2604.01978": Paper("Koubbi, Geshkovski, Rigollet", 2026, "Homogenized transformers"),
    "2605.09213": Paper(
        "Duerinckx, Geshkovski, Rossi", 2026,
        "Kinetic theory for transformers and the lost-in-the-middle phenomenon",
    ),
    "2606.05140": Paper(
        "Mun, Rosenzweig", 2026,
        "Phase transitions for the noisy transformer model in arbitrary dimension",
    ),
}  # fmt: skip
"""Papers by arXiv number."""


def heading(number: str) -> str:
    """The line above the claims of a paper: authors, year and arXiv number; or "ours"."""
    if number == OURS:
        return "Ours"
    if number == TRAINED:
        return "Trained models"
    if number not in PAPERS:
        return f"arXiv {number}"
    paper = PAPERS[number]
    first, *others = paper.authors.split(", ")
    names = f"{first} et al." if len(others) > 1 else " and ".join([first, *others])
    return f"{names} {paper.year}, arXiv {number}: {paper.title}"
