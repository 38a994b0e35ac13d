"""`parkade simulate`: one run, from the command line to a summary, a file and a figure."""

from __future__ import annotations

import sys
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from parkade.cli.guard import guarded, interruptible

PLOT = "parkade.png"
"""The default path of `--plot`."""

EXAMPLES = (
    "parkade simulate",
    "parkade simulate --n 200 --d 2 --beta 64 --t-end 150 --plot",
    "parkade simulate --n 200 --d 2 --beta 64 --t-end 1e60 --plot --forecast",
    "parkade simulate --V 1,1,-1 --t-end 5000 -o run.npz",
    "parkade simulate --d 2 --beta 9 --norm pre --t-end 1e12 --plot",
    "parkade simulate --d 2 --beta 9 --noise 20 --t-end 50 --plot",
    "parkade simulate --schedule 0:4,100:64 --d 2 --t-end 1e6 --plot",
    "parkade simulate --V '0,-1;1,0' --times log:0.1:100:31 --json",
)

_N, _T_END = 32, 1000.0


class SimulateCommand(TyperCommand):
    """The command with `--plot` usable as a flag: typer has no optional values."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Give a bare `--plot` its default path. There are no positional arguments."""
        full = [
            f"--plot={PLOT}" if arg == "--plot" and following.startswith("-") else arg
            for arg, following in pairwise([*args, "--"])
        ]
        return super().parse_args(ctx, full)


COMMAND = SimulateCommand


@guarded
def simulate(
    n: Annotated[
        int | None, typer.Option("--n", help=f"Number of tokens.  [default: {_N}]")
    ] = None,
    d: Annotated[
        int | None,
        typer.Option("--d", help="Dimension.  [default: from the matrices or tokens, else 3]"),
    ] = None,
    beta: Annotated[
        float, typer.Option("--beta", help="Inverse temperature.", show_default=True)
    ] = 9.0,
    schedule: Annotated[
        str | None,
        typer.Option(
            "--schedule",
            metavar="T:BETA,...",
            help="Inverse temperature that changes with time, instead of --beta: 0:16,100:64 is 16 "
            "up to time 100 and 64 from then on.",
        ),
    ] = None,
    V: Annotated[
        str,
        typer.Option(
            "--V",
            metavar="MATRIX",
            help="Value matrix: a number (times the identity), a diagonal 1,1,-1, rows '0,-1;1,0', "
            "a .npy, .csv or .txt file, or random:SEED with entries N(0, 1/d).",
        ),
    ] = "1",
    Q: Annotated[
        str, typer.Option("--Q", metavar="MATRIX", help="Query matrix, given like V.")
    ] = "1",
    K: Annotated[
        str, typer.Option("--K", metavar="MATRIX", help="Key matrix, given like V.")
    ] = "1",
    mask: Annotated[
        str,
        typer.Option(
            "--mask",
            metavar="NAME",
            help="Tokens attend to themselves and earlier ones (causal), to all (full), to the "
            "last 16 (window(16)), or also to each other among the first 16 (prefix(16)).",
        ),
    ] = "causal",
    norm: Annotated[
        str,
        typer.Option(
            "--norm", metavar="NAME", help="Normalisation: post, pre, mix, peri, ngpt or sqrt."
        ),
    ] = "post",
    position: Annotated[
        str | None,
        typer.Option(
            "--position",
            metavar="KIND",
            help="Positions: rope:BASE or alibi:SLOPE.  [default: none]",
        ),
    ] = None,
    heads: Annotated[
        int | None,
        typer.Option("--heads", help="Number of random heads, instead of one with Q, K and V."),
    ] = None,
    mlp: Annotated[
        int | None, typer.Option("--mlp", help="Width of a random MLP.  [default: no MLP]")
    ] = None,
    noise: Annotated[
        float | None,
        typer.Option(
            "--noise",
            metavar="KAPPA",
            help="Brownian motion of each token, at the temperature 1/KAPPA.  [default: no noise]",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", help="Seed of the uniform random start, and of the noise.")
    ] = 0,
    tokens: Annotated[
        Path | None,
        typer.Option(
            "--tokens",
            metavar="FILE",
            help="Start from the unit rows of a .npy, .csv or .txt file instead.",
        ),
    ] = None,
    frozen: Annotated[
        Path | None,
        typer.Option(
            "--frozen", metavar="FILE", help="Fixed tokens that all attend to, one per row."
        ),
    ] = None,
    frozen_weights: Annotated[
        str | None,
        typer.Option(
            "--frozen-weights", metavar="LIST", help="Weights of the frozen tokens.  [default: 1]"
        ),
    ] = None,
    t_end: Annotated[
        float | None,
        typer.Option(
            "--t-end", help=f"Final time.  [default: {_T_END:g}, or the last of a list of --times]"
        ),
    ] = None,
    times: Annotated[
        str,
        typer.Option(
            "--times",
            metavar="WHICH",
            help="Times to save: steps, final, a list 0,75,150, lin:START:STOP:COUNT or "
            "log:START:STOP:COUNT.",
        ),
    ] = "steps",
    tol: Annotated[
        float | None,
        typer.Option(
            "--tol",
            help="Largest error of a token in one step, in radians.  [default: 1e-06, with noise "
            "0.001]",
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option("--method", metavar="NAME", help="Integrator: explicit, implicit, or auto."),
    ] = "auto",
    sums: Annotated[
        str,
        typer.Option(
            "--sums",
            metavar="NAME",
            help="Attention sums: direct, harmonic (linear time; d = 2 or 3), or auto "
            "(the faster one).",
        ),
    ] = "auto",
    max_steps: Annotated[
        int | None,
        typer.Option(
            "--max-steps",
            help="Maximum number of steps.  [default: stop if the run clearly cannot finish]",
        ),
    ] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Keep the first part of a run that cannot finish.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Save the run; parkade.load reads it back."
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            metavar="[FILE]",
            help=f"Draw the run as .png, .pdf or .svg.  [default FILE: {PLOT}]",
        ),
    ] = None,
    forecast: Annotated[
        bool,
        typer.Option("--forecast", help="Draw the forecast from the start into the figure."),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of the summary.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print no summary and no progress bar.")
    ] = False,
    progress: Annotated[
        bool | None,
        typer.Option(
            "--progress/--no-progress",
            help="Progress bar on standard error.  [default: on a terminal]",
        ),
    ] = None,
) -> None:
    """Simulate tokens from a start to a final time."""
    with interruptible("nothing was written"):
        import parkade as pk
        from parkade.base import files
        from parkade.cli import parse

        if output is not None:
            files.writable(output)
        if plot is not None:
            parse.check_figure(plot)
        x0 = None if tokens is None else parse.tokens("--tokens", tokens)
        if x0 is not None and n not in (None, len(x0)):
            raise pk.InputError(f"--n {n} disagrees with the {len(x0)} rows of {tokens}; omit it")
        fixed = None if frozen is None else parse.tokens("--frozen", frozen)
        wanted_d = d if d is not None or x0 is None else x0.shape[1]
        matrices, dimension = parse.matrices({"Q": Q, "K": K, "V": V}, wanted_d)
        extras = parse.Extras(norm, position, heads, mlp, noise)
        model = parse.model(
            pk.Attention(dimension, beta, mask=mask, noise=None, **matrices), extras, seed
        )
        when = parse.times(times)
        if t_end is None:
            t_end = _T_END if isinstance(when, str) else float(when[-1])
        if x0 is None:
            x0 = pk.sphere.uniform(_N if n is None else n, dimension, seed)
        weights = (
            None if frozen_weights is None else parse.numbers("--frozen-weights", frozen_weights)
        )
        show = sys.stderr.isatty() if progress is None else progress
        predicted = None
        if forecast:
            from parkade.cli.forecast import check_forecast

            changing = schedule is not None or fixed is not None
            check_forecast(plot, changing, when)
            predicted = pk.theory.forecast(x0, model)  # before the run, which may take long
        warnings.simplefilter("ignore", pk.TrustWarning)  # the summary includes it
        run = pk.simulate(
            model,
            x0,
            t_end,
            schedule=None if schedule is None else parse.schedule("--schedule", schedule),
            times=when,
            tol=tol,
            method=method,  # type: ignore[arg-type]  # checked by the library
            sums=sums,  # type: ignore[arg-type]  # checked by the library
            frozen=fixed,
            frozen_weights=weights,
            max_steps=max_steps,
            partial=partial,
            seed=seed,
            progress=show and not quiet,
        )
        moved = pk.sphere.distance(x0, run.final)
    with interruptible("files are either complete or not written"):
        if output is not None:
            run.save(output)
        if plot is not None:
            from parkade import plots

            plots.save(plots.overview(run, forecast=predicted), plot)
    from parkade.cli import summary

    written = {"output": output, "plot": plot}
    start = f"seed {seed}" if tokens is None else str(tokens)
    if as_json:
        print(summary.as_json(run, moved, None if tokens else seed, written))
    elif not quiet:
        print(summary.as_text(run, moved, start, written))
