"""
What changes if tokens see the future?
======================================

**Answer.** Leaders. Under the causal mask the earliest token of a cluster rests and the others
come to it. Under the full mask all tokens of a cluster move towards their middle, and no token is
special. Both form about as many clusters, in other places.
"""

import warnings

import parkade as pk
from parkade import plots

x0 = pk.sphere.uniform(60, 2, seed=1)
figure = plots.new_figure(7.0, 2.8)
for mask, ax in zip(("causal", "full"), figure.subplots(1, 2, sharey=True), strict=True):
    run = pk.simulate(pk.Attention(d=2, beta=16.0, mask=mask), x0, t_end=100.0)
    print(f"{mask}: {run.merge_tree().count(100.0)} clusters")
    plots.angles(run, ax=ax)
    ax.set_title(f"{mask} mask")
figure

# %%
# The full mask has a price: forces between its clusters are differences of rounded numbers. A run
# says how far it can be trusted, and warns if that is not to its end.

for mask in ("causal", "full"):
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", pk.TrustWarning)
        run = pk.simulate(pk.Attention(d=2, beta=64.0, mask=mask), x0, t_end=1e15)
    print(f"{mask}: trusted until t = {run.trusted_until:.1e}, {len(warned)} warnings")
