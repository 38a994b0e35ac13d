"""`parkade timeline`: the metastable states of a run and the merges between them."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parkade.base.errors import InputError
from parkade.cli.guard import guarded, interruptible

if TYPE_CHECKING:
    from parkade.theory.merge_tree import MergeTree

EXAMPLES = (
    "parkade timeline --seed 1",
    "parkade timeline --seed 1 --forecast",
    "parkade timeline --n 20 --beta 16 --seed 1 --proved",
    "parkade simulate --n 200 --d 2 --beta 64 --t-end 1e60 -o run.npz",
    "parkade timeline run.npz --json",
    "parkade timeline run.npz --csv merges",
)

COLUMNS = {
    "merges": ("time", "absorbed", "into", "size"),
    "plateaus": ("start", "end", "clusters", "lifetime"),
}
"""The columns of the CSV tables of merges and plateaus; tokens are counted from 0."""


@guarded
def timeline(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="A run saved by simulate -o.  [default: a new run from the options]",
        ),
    ] = None,
    n: Annotated[int, typer.Option("--n", help="Number of tokens of a new run.")] = 200,
    d: Annotated[int, typer.Option("--d", help="Dimension of a new run; Q = K = V = I.")] = 2,
    beta: Annotated[float, typer.Option("--beta", help="Inverse temperature of a new run.")] = 64.0,
    t_end: Annotated[float, typer.Option("--t-end", help="Final time of a new run.")] = 1e60,
    seed: Annotated[int, typer.Option("--seed", help="Seed of its random start.")] = 0,
    radius: Annotated[
        float | None,
        typer.Option(
            "--radius", help="Tokens closer than this are merged.  [default: from the model]"
        ),
    ] = None,
    persistence: Annotated[
        float, typer.Option("--persistence", help="Factor in time over which a state must last.")
    ] = 2.0,
    forecast: Annotated[
        bool,
        typer.Option("--forecast", help="Show the forecast from the start as well."),
    ] = False,
    proved: Annotated[
        bool, typer.Option("--proved", help="Show what can be proved as well; takes minutes.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    csv: Annotated[
        str | None,
        typer.Option("--csv", metavar="TABLE", help="Print a table as CSV: merges or plateaus."),
    ] = None,
    newick: Annotated[
        bool,
        typer.Option("--newick", help="Print the merge tree (and the forecast) in Newick format."),
    ] = False,
) -> None:
    """Show the metastable states of a run, their lifetimes and the merges."""
    with interruptible("nothing was written"):
        import parkade as pk
        from parkade.base import check

        if csv is not None:
            check.choice("--csv", csv, tuple(COLUMNS))
        if file is not None:
            run = pk.load(file)
        else:
            model, x0 = pk.Attention(d, beta), pk.sphere.uniform(n, d, seed)
            run = pk.simulate(model, x0, t_end, progress=sys.stderr.isatty())
        proof = None
        if proved:
            _check_proved(file, as_json or newick or csv is not None)
            proof = pk.certify(
                run.tokens[0], beta, t_end, radius=radius, progress=sys.stderr.isatty()
            )
        warnings.simplefilter("ignore", pk.TrustWarning)  # the text includes doubts
        predicted = pk.clusters.forecast_of(run, radius) if forecast else None
        tree = run.merge_tree(radius, persistence)
    if csv is not None:
        print(_table(csv, tree))
    elif as_json:
        print(_json(tree, predicted))
    elif newick:
        print("\n".join(one.to_newick() for one in (tree, predicted) if one is not None))
    else:
        print(tree.to_text())
        if predicted is not None:
            from parkade.cli.forecast import as_text

            print(f"\n{as_text(predicted, tree)}")
        if proof is not None:
            print(f"\n{proof}")


def _check_proved(file: Path | None, other: bool) -> None:
    """Refuse --proved where nothing can be proved, or shown."""
    if file is not None:
        raise InputError("--proved needs a new run; leave out the file")
    if other:
        raise InputError("--proved prints text; leave out --json, --csv and --newick")


def _table(name: str, tree: MergeTree) -> str:
    """The merges or the plateaus, as lines of CSV."""
    rows = {"merges": tree.events, "plateaus": tree.plateaus}[name]
    lines = [",".join(f"{getattr(row, column)}" for column in COLUMNS[name]) for row in rows]
    return "\n".join([",".join(COLUMNS[name]), *lines])


def _json(tree: MergeTree, predicted: MergeTree | None) -> str:
    """The tree as one JSON object, with the forecast if there is one."""
    if predicted is None:
        return tree.to_json()
    from parkade.cli.forecast import as_data

    return json.dumps({**json.loads(tree.to_json()), "forecast": as_data(predicted, tree)})
