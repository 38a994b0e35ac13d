"""Table 1: where tokens end for five value matrices, with the parameters of Figure 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from parkade import theory
from parkade.analysis.ending import as_predicted, rests
from parkade.base.errors import doubts_do_not_matter
from parkade.experiments.claim import Claim, Evidence
from parkade.experiments.experiment import CAUSAL_CLUSTERING, Figure, Finding, Setup
from parkade.model import sphere
from parkade.model.attention import Attention
from parkade.solve.simulate import simulate, simulate_many
from parkade.theory.paper import FIGURE_1, TABLE_1

LATE = 1e9


# By sample and seed: the claim and the figure show the same.
_computed: dict[tuple[bool, int], Evidence] = {}


def measure(setup: Setup) -> Evidence:
    """Compare the final configurations that theory predicts with simulated ones."""
    key = setup.quick, setup.seed
    if key not in _computed:
        _computed[key] = _measure(setup)
    return _computed[key]


def _measure(setup: Setup) -> Evidence:
    runs = setup.choose(3, 20)
    rows: dict[str, dict[str, Any]] = {}
    start = sphere.uniform(FIGURE_1.n, 3, setup.generator(len(TABLE_1)))
    shown = []
    for i, (name, V) in enumerate(setup.each(list(TABLE_1.items()))):
        rng = setup.generator(i)
        starts = [sphere.uniform(FIGURE_1.n, 3, rng) for _ in range(runs)]
        model = Attention(V=V, beta=FIGURE_1.beta)
        final = theory.final_configuration(model.V)
        with doubts_do_not_matter():
            paths = simulate_many(model, starts, LATE, times=[FIGURE_1.t_end, LATE])
        right = np.array([[as_predicted(final, start, tokens) for tokens in path.tokens]
                          for start, path in zip(starts, paths, strict=True)])  # fmt: skip
        # Tokens on their way to a point are no counterexample unless they rest elsewhere.
        waiting = [
            final.kind.endswith(("point", "points")) and not rests(model, path.final)
            for path in np.array(paths, dtype=object)[~right[:, 1]]
        ]
        # The whole path of a cloud would fill the picture.
        shown.append(simulate(model, start, FIGURE_1.t_end if "cloud" in final.kind else LATE))
        rows[name] = {
            "predicted": final.kind,
            "status": final.status,
            "share at t = 5000": float(right[:, 0].mean()),
            "share at t = 1e9": float(right[:, 1].mean()),
            "exceptions": int((~right[:, 1]).sum()),
            "still on their way": sum(waiting),
        }
    wrong = sum(r["exceptions"] - r["still on their way"] for r in rows.values())
    whole = sum(r["share at t = 1e9"] == 1 for r in rows.values())
    early = [f"{r['share at t = 5000']:.0%}" for r in rows.values()]
    return Evidence(
        verdict="contradicts" if wrong else "agrees" if whole == len(TABLE_1) else "undecided",
        measured=f"{whole}/5 rows at t=1e9; {', '.join(early)} at t=5000",
        false_alarm=0.0,
        numbers={"runs of each row": runs, "rows": rows, "table": _table(rows)},
        data={"runs": shown},
    )


def _table(rows: dict[str, dict[str, Any]]) -> list[list[str]]:
    """Table 1 as measured, heading first."""
    heading = ["V", "λ_max", "dim L", "predicted", "status", "seen at t = 5000", "at t = 1e9"]
    table = [heading]
    for name, V in TABLE_1.items():
        final = theory.final_configuration(V)
        shares = [f"{rows[name][f'share at t = {t}']:.0%} of runs" for t in ("5000", "1e9")]
        table.append(
            [name, f"{final.eigenvalue:g}", str(final.dim), final.kind, final.status, *shares]
        )
    return table


def draw(finding: Finding, figure: Figure) -> None:
    """Draw a run for every row, with the share of runs that end as expected."""
    from parkade.plots.ending import draw_ending

    rows = finding.numbers["rows"]
    for name, run, ax in zip(TABLE_1, finding.data["runs"], figure.subplots(1, 5), strict=True):
        draw_ending(run, name, ax)
        seen = rows[name]
        shares = seen["share at t = 5000"], seen["share at t = 1e9"]
        ax.set_title(f"{name}\n{seen['predicted']}\n{shares[0]:.0%} → {shares[1]:.0%}", fontsize=7)


CLAIM = Claim(
    name="table-1",
    title="Table 1: V decides where tokens end (share of runs there at t = 5000 → 10⁹)",
    paper=CAUSAL_CLUSTERING,
    status="observed",
    prediction="5/5 rows in every run, t → ∞",
    measure=measure,
    draw=draw,
    height=2.3,
)
