"""Phase diagrams: a measure of an ensemble as a heat map over β and time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.ticker import LogLocator, StrMethodFormatter

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.plots import style

if TYPE_CHECKING:
    import xarray

_TITLES = {
    "clusters": "mean number of clusters",
    "largest": "collapsed fraction (largest cluster)",
    "consumed": "consumed fraction",
    "displacement": "mean displacement",
}
_SHARES = ("largest", "consumed")  # from 0 to 1
_LINKED = ("clusters", "largest")  # depend on the radius of clusters


@style.context()
def phase_diagram(ds: xarray.Dataset, variable: str = "clusters", ax: Axes | None = None) -> Axes:
    """Draw the mean over the runs of an ensemble against β and time.

    Parameters
    ----------
    ds : xarray.Dataset
        The result of `parkade.ensemble` with a list of `beta`.
    variable : str
        "clusters", "largest" (the collapsed fraction: the share of tokens in the largest
        cluster), or any other variable that depends on "time" and "beta". For other
        dimensions choose a point with ``ds.sel``.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.

    Returns
    -------
    matplotlib Axes
        β on the vertical axis, and t on a logarithmic horizontal axis without t = 0. The
        colour bar's label names the variable, and the radius of clusters. Counts have
        logarithmic colours.

    Examples
    --------
    >>> import parkade as pk
    >>> from parkade import plots
    >>> ds = pk.ensemble(d=2, beta=[1.0, 4.0, 16.0], n=20, runs=5, t_end=10.0)
    >>> ax = plots.phase_diagram(ds, "largest")
    >>> plots.save(ax.figure, "phase.pdf")  # doctest: +SKIP
    """
    beta, time, mean = _table(ds, variable)
    ax = style.axes(ax, style.COLUMN, 2.6)
    low, high = float(np.nanmin(mean)), float(np.nanmax(mean))
    colours: Normalize
    if variable in _SHARES:
        colours = Normalize(0.0, 1.0)
    elif variable == "clusters" and high > low:
        colours = LogNorm(low, high)
    else:
        colours = Normalize(low, high)
    # Cividis is safe for colour-blind readers.
    mesh = ax.pcolormesh(
        _edges(time, log=True),
        _edges(beta, log=_geometric(beta)),
        mean,
        norm=colours,
        cmap="cividis",
        rasterized=mean.size > 10_000,
    )
    ax.set_xscale("log")
    if _geometric(beta):
        ax.set_yscale("log")
    ax.set(xlabel="time t", ylabel="inverse temperature β")
    bar = ax.figure.colorbar(mesh, ax=ax)
    if isinstance(colours, LogNorm):
        # Labels 1, 2, 5, 10, 20 …, not powers of ten.
        bar.ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        bar.ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        bar.ax.minorticks_off()
    bar.set_label(_TITLES.get(variable, style.plain(variable)) + _radius(ds, variable))
    bar.outline.set_linewidth(0.6)
    return ax


def _table(ds: xarray.Dataset, variable: str) -> tuple[Array, Array, Array]:
    """β, times > 0, and the mean over the runs, (β, time)."""
    if not hasattr(ds, "data_vars"):
        raise InputError(
            f"phase_diagram needs a Dataset, got {type(ds).__name__}; pass the result of "
            "parkade.ensemble"
        )
    if variable not in ds.data_vars:
        raise InputError(
            f"the ensemble has no variable {check.brief(variable)}, only "
            f"{', '.join(map(str, ds.data_vars))}; add its measure"
        )
    values = ds[variable]
    for needed in ("beta", "time"):
        if needed not in values.dims:
            raise InputError(
                f"a phase diagram needs {variable} over beta and time, but it has no dimension "
                f"{needed!r}; sweep a list of beta, and choose a variable over time"
            )
    others = [str(dim) for dim in values.dims if dim not in ("beta", "time", "run")]
    if others:
        choice = ", ".join(f"{dim}={ds[dim].values[0].item()!r}" for dim in others)
        raise InputError(
            f"{variable} depends on {', '.join(others)} as well; choose a point, for example "
            f"ds.sel({choice})"
        )
    values = values.sortby("beta").transpose("beta", "time", ...)
    if "run" in values.dims:
        values = values.mean("run")
    late = np.unique(values.time.values, return_index=True)[1]
    late = late[values.time.values[late] > 0]
    if not len(late):
        raise InputError("a phase diagram needs times > 0, but the ensemble has t=0 only")
    mean: Array = values.values[:, late].astype(np.float64)
    if not np.isfinite(mean).any():
        raise InputError(f"{variable} has no values yet: no batch is done; run the ensemble")
    return values.beta.values.astype(np.float64), values.time.values[late], mean


def _radius(ds: xarray.Dataset, variable: str) -> str:
    """The radius of clusters, or its range, as a second line of the label; empty if unknown."""
    if variable not in _LINKED or "cluster_radius" not in ds.coords:
        return ""
    radii = ds.cluster_radius.values
    ends = dict.fromkeys(f"{end:.2g}" for end in (np.min(radii), np.max(radii)))
    return f"\nradius {' to '.join(ends)}"


def _geometric(values: Array) -> bool:
    """Whether values are better shown on a logarithmic axis."""
    if len(values) < 3 or values[0] <= 0:
        return False
    return bool(np.ptp(np.diff(np.log(values))) < np.ptp(np.diff(values)) / values.mean())


def _edges(centers: Array, *, log: bool) -> Array:
    """Cell edges for increasing centres."""
    x = np.log(centers) if log else centers
    if len(x) == 1:
        edges = np.array([x[0] - 0.5, x[0] + 0.5])
    else:
        middle = (x[1:] + x[:-1]) / 2
        edges = np.concatenate([[2 * x[0] - middle[0]], middle, [2 * x[-1] - middle[-1]]])
    return np.exp(edges) if log else edges
