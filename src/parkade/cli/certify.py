"""`parkade certify`: prove which clusters there are and when they merge, or check such a proof."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from parkade.base.errors import InputError
from parkade.cli.guard import guarded, interruptible
from parkade.cli.parse import check_figure

EXAMPLES = (
    "parkade certify --n 20 --beta 16 --seed 1",
    "parkade certify --n 20 --beta 16 --seed 1 -o proof.json --plot proof.png",
    "parkade certify --d 3 --n 12 --beta 32",
    "parkade certify --check proof.json",
)


@guarded
def certify(
    n: Annotated[int, typer.Option("--n", help="Number of tokens.")] = 20,
    d: Annotated[int, typer.Option("--d", help="Dimension: 2 is the circle.")] = 2,
    beta: Annotated[float, typer.Option("--beta", help="Inverse temperature.")] = 16.0,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the random start.")] = 0,
    t_end: Annotated[float, typer.Option("--t-end", help="Final time.")] = 1e60,
    radius: Annotated[
        float | None,
        typer.Option("--radius", help="The angle within which tokens are merged."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write the certificate (JSON)."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot", metavar="FILE", help="Draw the proved staircase (.png, .pdf, .svg)."
        ),
    ] = None,
    checked: Annotated[
        Path | None,
        typer.Option("--check", metavar="FILE", help="Check a certificate, step by step."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the claims as JSON.")] = False,
) -> None:
    """Prove which clusters of tokens there are, and when they merge.

    All bounds come from interval arithmetic: minutes for 200 tokens. Needs python-flint.
    """
    with interruptible("nothing was written"):
        import parkade as pk
        from parkade.base.progress import bar
        from parkade.proof import certificate

        if plot is not None:
            check_figure(plot)
        if checked is not None and output is not None:
            raise InputError("give --check FILE to check a certificate, or -o FILE to make one")
        show = sys.stderr.isatty()
        if checked is not None:
            with bar("check", show=show) as report:
                proof = certificate.checked(certificate.read(checked), report)
        else:
            x0 = pk.sphere.uniform(n, d, seed)
            proof = pk.certify(x0, beta, t_end, radius=radius, progress=show)
        if output is not None:
            proof.save(output)
        if plot is not None:
            figure = pk.plots.new_figure(7.0, 2.8)
            pk.plots.proved(proof, figure.subplots())
            pk.plots.save(figure, plot)
    if as_json:
        print(json.dumps(proof.to_dict()))
        return
    if checked is not None:
        print(f"{checked} proves what it claims.\n")
    print(proof)
    for path in (output, plot):
        if path is not None:
            print(f"\nwrote {path}")
