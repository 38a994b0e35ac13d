"""
Can a sweep run on a cluster?
=============================

**Answer.** Yes: any executor will do, such as that of a Dask client. Each batch is one file in a
store, which all workers must see; the same call after a crash continues where it stopped. The bits
are those of a single process.
"""

import tempfile

from distributed import Client

import parkade as pk
from parkade import plots

grid = {"d": 2, "n": 40, "beta": [4.0, 16.0, 64.0], "runs": 20, "t_end": 50.0, "seed": 1}
with (
    tempfile.TemporaryDirectory() as folder,
    Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None) as client,
):
    ds = pk.ensemble(**grid, store=f"{folder}/sweep", executor=client.get_executor())
print("the same as here:", ds.clusters.equals(pk.ensemble(**grid).clusters))

ax = plots.new_figure(4.5, 2.8).add_subplot()
for beta in ds.beta.values:
    mean = ds.clusters.sel(beta=beta).mean("run")
    ax.loglog(ds.time[1:], mean[1:], label=f"β = {beta:g}")
ax.set(xlabel="time t", ylabel="mean number of clusters")
ax.set_yticks([2, 5, 10, 20, 40], [2, 5, 10, 20, 40])
ax.minorticks_off()
ax.legend()
ax
