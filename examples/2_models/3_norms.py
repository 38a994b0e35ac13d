"""
Why do clusters last longer with pre-norm?
==========================================

**Answer.** Because tokens grow. With pre-norm a token of length r turns r times slower, and its
length grows like t, so the clock runs like ln t. What happens at the time t with post-norm happens
near e^t.
"""

import parkade as pk
from parkade import plots

x0 = pk.sphere.uniform(30, 2, seed=1)
figure = plots.new_figure(7.0, 5.0)
above, below = figure.subplots(2, 1)
runs = {
    norm: pk.simulate(pk.Transformer([pk.Head(d=2, beta=9.0)], norm=norm), x0, t_end=1e15)
    for norm in ("post", "pre")
}
for norm, color in (("post", "#0072B2"), ("pre", "#D55E00")):
    tree = runs[norm].merge_tree()
    times = runs[norm].times[1:]
    above.step(times, tree.count(times), where="post", color=color, label=f"{norm}-norm")
    print(f"{norm}-norm: {tree.count(100.0)} clusters at t = 100, {tree.count(1e15)} at 10¹⁵")
above.set(xscale="log", xlim=(1, 1e15), xlabel="time t", ylabel="clusters")
above.legend()
plots.lengths(runs["pre"], ax=below)
figure
