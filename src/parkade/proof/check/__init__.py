"""Check a certificate of merges. Nothing else has to be read, or trusted, to believe what it says.

A certificate is about n tokens on the circle, or on a sphere, with causal attention and
Q = K = V = I. On the circle:

    dφ_k/dt = F_k = Σ_{j<k} h(φ_j − φ_k) / Z_k,   Z_k = 1 + Σ_{j<k} w(φ_j − φ_k),
    w(x) = exp(β (cos x − 1)),  h(x) = w(x) sin x,

from the directions of the given float64 numbers. A token *leads* at a time if no earlier token is
within `radius` of it, an angle. A certificate claims *plateaus*: from `start` to `end` exactly
these tokens lead; and *merges*: until when a token leads at least that does not in the next
plateau (`earliest`), and from when on it does not (`latest`). All numbers here are balls of Arb,
which contain what they stand for.

1. *Gathering.* Until some time, polynomials p_k(t) are near the tokens: if |F_k(p) − p_k'| ≤ δ_k,
   the distance e_k obeys  e_k' ≤ μ_k e_k + Σ_{j<k} L_kj e_j + δ_k,  with μ_k and L_kj bounds of
   ∂F_k/∂φ_k and |∂F_k/∂φ_j| within tubes of radius r_j, as long as e_j ≤ r_j; which follows.
2. *Traps.* Token k of the cluster of u stays between −a_k and b_k from it if F_k − F_u points
   inwards wherever k is there, and earlier tokens are anywhere in their own traps. Traps may be
   wide: those of clusters that come together are one arc around u, which nobody leaves.
3. *Drift.* A leader moves by F_u dt; F_u is bounded where it and all others may be meanwhile.
4. *Clock.* While leader s passes from a to b, the time ∫ dx / |F_s| passes. The next leader to
   merge is the clock, so that time is known where the place is.
5. *Edges.* After the first tokens of a cluster, the outermost of the next ones moves inwards at
   least as fast as the first ones pull it. So does an arc shrink, of one cluster or of several.

On a sphere of a higher dimension, with d numbers for each token, the model is

    dx_k/dt = F_k = Σ_{j<k} w_kj P_k x_j / Z_k,   Z_k = 1 + Σ_{j<k} w_kj,
    w_kj = exp(β (⟨x_k, x_j⟩ − 1)),  P_k x = x − ⟨x, x_k⟩ x_k,

and the same five steps are taken with curves for polynomials of angles, boxes of vectors for
intervals, and geodesic balls for arcs (the files sphere_…, passage and points). There, step 1 may
be taken again later on, and a clock moves towards a fixed point.

Trusted: python-flint (Arb), Python's integers and JSON, and the files of this folder.
"""
