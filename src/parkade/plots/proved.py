"""The staircase of clusters as far as it is proved."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from parkade.base.errors import InputError
from parkade.plots import style
from parkade.plots.stairs import tree_of
from parkade.proof.certificate import Certificate
from parkade.runs.path import Path


@style.context()
def proved(certificate: Certificate, ax: Axes | None = None, *, run: Path | None = None) -> Axes:
    """Draw the number of clusters that is proved, and the bounds of the merges.

    Parameters
    ----------
    certificate : Certificate
        The result of `certify`.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.
    run : Path, optional
        A simulation of the same tokens: a line on top.

    Returns
    -------
    matplotlib Axes
        Plateaus are bars at the number of clusters, from the time to the time for which that is
        proved. Between them, a band shows when clusters merge: it is as wide as what is not known.

    Examples
    --------
    >>> import parkade as pk
    >>> certificate = pk.certify(pk.sphere.from_angles([0.0, 1.0]), beta=16.0, t_end=1e6)
    >>> pk.plots.proved(certificate).get_ylabel()
    'clusters (radius 0.025)'
    """
    if not isinstance(certificate, Certificate):
        raise InputError(
            f"plots.proved needs a certificate, got {type(certificate).__name__}; pass the result "
            "of parkade.certify"
        )
    ax = style.axes(ax, style.PAGE, 2.8)
    ax.set_xscale("log")
    states = certificate.plateaus
    for i, state in enumerate(states):
        label = "proved" if i == 0 else ""
        ax.hlines(state.clusters, state.start, state.end, color=style.BLUE, lw=4, label=label)
        ax.fill_between(
            [state.start, state.end], state.clusters, color=style.BLUE, alpha=0.12, lw=0
        )
    for event in certificate.events:
        start, end = min(one.earliest for one in event), max(one.latest for one in event)
        ax.axvspan(start, end, color=style.VERMILLION, alpha=0.5, lw=0)
    if run is not None:
        tree = tree_of(run, "proved")
        start = states[0].start if states else tree.start
        events = [event.time for event in tree.events if start < event.time < tree.end]
        times = [start, *events, tree.end]
        counts = [tree.count(t) for t in times]
        ax.step(times, counts, where="post", color="black", lw=1, label="simulated")
        ax.legend(loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0, ncols=2)
    ax.set_ylim(0, 1.3 * max((state.clusters for state in states), default=1) + 1)
    ax.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
    ax.set_xlabel("time")
    ax.set_ylabel(f"clusters (radius {certificate.radius:.2g})")
    return ax
