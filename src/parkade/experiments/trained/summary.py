"""The reports on several models as one table: `python -m parkade.experiments.trained.summary`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from parkade.base.files import reading
from parkade.experiments.output import write

Report = dict[str, Any]


def rows(reports: Sequence[Report]) -> list[list[str]]:
    """A row for each number, a column for each model, nulls in brackets.

    What no report has is left out.
    """
    listed = [[name, *(cell(one) for one in reports)] for name, cell in _ROWS.items()]
    head = ["", *(one["model"]["name"] for one in reports)]
    return [head, *(row for row in listed if set(row[1:]) != {"–"})]


def table(reports: Sequence[Report]) -> str:
    """The rows as a Markdown table."""
    head, *body = ([cell.replace("|", "\\|") for cell in row] for row in rows(reports))
    lines = [f"| {' | '.join(head)} |".replace("|  |", "| |"), "|---" * len(head) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in body)]) + "\n"


def _curve(name: str, null: str) -> Callable[[Report], str]:
    def cell(report: Report) -> str:
        one = report["survey"]["curves"][name]
        chance = one["nulls"].get(null)
        beside = "" if chance is None else f" ({_short(chance['mean'][-1])})"
        return f"{_short(one['mean'][0])} → {_short(one['mean'][-1])}{beside}"

    return cell


def _short(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 10 else f"{value + 0.0:.2f}".replace("-0.00", "0.00")


def _kind(*names: str) -> Callable[[Report], str]:
    def cell(report: Report) -> str:
        kinds = report["heads"]["kinds"]
        trained, random = (sum(kinds[n][which] for n in names) for which in ("trained", "random"))
        return f"{trained:.2f} ({random:.2f})"

    return cell


def _centers(report: Report) -> str:
    one = report["survey"]["centers"]["strong"]
    nulls = [one["nulls"][name]["mean"][-1] for name in ("reversed", "permuted")]
    return f"{one['mean'][-1]:.3f} ({nulls[0]:.3f}, {nulls[1]:.3f})"


def _capture(report: Report) -> str:
    one = report["survey"]["captured"]
    if one is None:
        return "–"
    nulls = [one["nulls"][name]["mean"] for name in ("token", "matched")]
    return f"{one['mean']:.3f} ({nulls[0]:.3f}, {nulls[1]:.3f})"


def _pull(report: Report) -> str:
    one = report["survey"]["pulled"]
    return f"{np.mean(one['mean']):.3f} ({np.mean(one['nulls']['later']['mean']):.3f})"


def _sinks(report: Report) -> str:
    one = report["survey"]["attention"]
    return f"{max(one['mean']):.2f} ({one['nulls']['even']['mean'][0]:.3f})"


def _ablated(name: str) -> Callable[[Report], str]:
    def cell(report: Report) -> str:
        one = report["ablations"].get(name)
        if one is None:
            return "–"
        return f"{one['mean'][-1]:.2f} ({one['nulls']['trained']['mean'][-1]:.2f})"

    return cell


def _balance(report: Report) -> str:
    values = [value for row in report["heads"]["balance"] for value in row]
    return f"{min(values):.2f} … {max(values):.2f} (± {report['heads']['random_balance_sd']:.2f})"


def _beta(report: Report) -> str:
    quantiles = np.quantile(report["heads"]["beta"], [0.1, 0.5, 0.9])
    return ", ".join(f"{value:.0f}" for value in quantiles)


_ROWS: dict[str, Callable[[Report], str]] = {
    "heads": lambda r: str(r["heads"]["count"]),
    "λ real, > 0 (random)": _kind("two points"),
    "λ complex, Re > 0 (random)": _kind("rotation"),
    "Re λ < 0 (random)": _kind("two clouds", "outside"),
    "balance Σλ/Σ|λ| (random sd)": _balance,
    "effective β: 10, 50, 90%": _beta,
    "texts": lambda r: str(r["survey"]["texts"]),
    "mean cosine, first → last layer (isotropic)": _curve("mean cosine", "isotropic"),
    "centred (pooled)": _curve("mean cosine, centred", "pooled"),
    "effective rank, centred (pooled)": _curve("effective rank, centred", "pooled"),
    "clusters, cosine > 0.9 (equal covariance)": _curve("clusters (cosine > 0.9)", "gaussian"),
    "pull of earlier tokens, mean over layers (of later ones)": _pull,
    "most attention to the first token in a layer (even)": _sinks,
    "strong centres, last layer (reversed, permuted)": _centers,
    "error of the nearest centre (token, matched)": _capture,
    "cosine at the end without MLPs (trained)": _ablated("no-mlp"),
    "with random MLPs (trained)": _ablated("random-mlp"),
    "with random values (trained)": _ablated("random-values"),
}


def main(folder: Path) -> Path:
    """Write `table.md` from the reports in the folders of `folder`."""
    reports = []
    for path in sorted(folder.glob("*/report.json")):
        with reading(path, "a report"):
            reports.append(json.loads(path.read_text(encoding="utf-8")))
    return write(folder / "table.md", table(reports))


if __name__ == "__main__":
    print(main(Path(sys.argv[1])))
