"""`parkade bench`: how fast this machine runs parkade and plain NumPy."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

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
        bool, typer.Option("--quick", help="Small sizes, few repetitions: a check, not a measure.")
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
            _print_table(results, quick)


def _print_table(results: list[Result], quick: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    from parkade import bench

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("case", no_wrap=True)
    table.add_column("baseline")
    for name in ("baseline", "parkade", "ratio", "target"):
        table.add_column(name, justify="right", no_wrap=True)
    for r in results:
        met = "" if quick else " met" if r.ratio >= r.target else " missed"
        table.add_row(
            r.case,
            r.baseline,
            _seconds(r.baseline_seconds),
            _seconds(r.parkade_seconds),
            f"{r.ratio:.1f}×",
            f"{r.target:g}×{met}",
        )
    console = Console(highlight=False)
    console.print(table)
    console.print()
    for r in results:
        console.print(f"{r.case}: {_remark(r)}\n  {r.sums}")
    where = bench.machine()
    console.print(
        f"{where['cores']} × {where['processor']}, Python {where['python']}, "
        f"NumPy {where['numpy']}, Numba {where['numba']}"
    )
    if quick:
        console.print("--quick: sizes too small to compare with the targets")


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
