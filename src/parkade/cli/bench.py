"""`parkade bench`: how fast this machine runs parkade and plain NumPy."""

from __future__ import annotations

import sys
import textwrap
from typing import TYPE_CHECKING, Annotated

import typer

from parkade.base.tables import Column, terminal_width, text_table
from parkade.cli.guard import guarded, interruptible

if TYPE_CHECKING:
    from parkade.bench import Result

EXAMPLES = ("parkade bench", "parkade bench run --json")


@guarded
def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CASE",
            help="velocity-batch, run, velocity-large-d, velocity-circle, velocity-sphere.  "
            "[default: all]",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Use small sizes and few repetitions.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of the table.")
    ] = False,
) -> None:
    """Measure parkade against plain NumPy, side by side."""
    with interruptible("nothing was written"):
        from parkade import bench

        results = bench.measure(names or (), quick=quick, progress=sys.stderr.isatty())
        if as_json:
            import json

            print(json.dumps(bench.report(results, quick=quick), indent=2))
        else:
            print(_text(results, quick))


def _text(results: list[Result], quick: bool) -> str:
    """The table, a remark on each case, and the machine."""
    from parkade import bench

    columns = [
        Column("case"),
        Column("baseline", share=1),
        *(Column(name, right=True) for name in ("baseline", "parkade", "ratio", "target")),
    ]
    rows = []
    for r in results:
        met = "" if quick else " met" if r.ratio >= r.target else " missed"
        rows.append(
            (
                r.case,
                r.baseline,
                _seconds(r.baseline_seconds),
                _seconds(r.parkade_seconds),
                f"{r.ratio:.1f}×",
                f"{r.target:g}×{met}",
            )
        )
    width = terminal_width()
    where = bench.machine()
    remarks = [line for r in results for line in (f"{r.case}: {_remark(r)}", f"  {r.sums}")]
    remarks.append(
        f"{where['cores']} × {where['processor']}, Python {where['python']}, "
        f"NumPy {where['numpy']}, Numba {where['numba']}"
    )
    if quick:
        remarks.append("--quick: sizes too small to compare with the targets")
    folded = [textwrap.fill(remark, width, subsequent_indent="  ") for remark in remarks]
    return "\n".join([text_table(columns, rows, width=width), "", *folded])


def _remark(result: Result) -> str:
    d = result.details
    if "parkade_error_max" in d:
        return (
            f"largest error {d['parkade_error_max']:.1e} rad, "
            f"the baseline's {d['baseline_error_max']:.1e}"
        )
    if "ns_per_token" in d:
        return f"{d['ns_per_token']:.0f} ns per token, largest difference {d['error_max']:.1e}"
    return (
        f"{d['parkade_ns_per_pair']:.2f} ns per pair, NumPy {d['baseline_ns_per_pair']:.1f}, "
        f"arithmetic limit {d['limit_ns_per_pair']:.2f} ({d['share_of_limit']:.0%})"
    )


def _seconds(value: float) -> str:
    return f"{value:.2f} s" if value >= 1 else f"{value * 1e3:.3g} ms"
