"""A transformer with any heads, positions, MLP and normalisation, as the compiled code needs it.

`System` is the special case of one head, whose kernels are faster. Here heads may have low rank:
token k has a query q_k = β R_k Q x_k, and offers a key κ_k = R_k K x_k and a value w_k = W x_k.
The value matrix of the head is V = O W. With p_kj the softmax of ⟨q_k, κ_j⟩ + b(k − j),

    ν_k = Σ_{j≠k} p_kj (w_j − w_k),
    F_k = λ x_k + f_k,      f_k = Σ_h O_h ν^h_k + B x_k + G(x_k),

where λ is the largest real part of the spectrum of Σ V_h, B = Σ V_h − λI, and G is the MLP. As in
`pairwise`, a token's own term in ν_k is exactly zero and λ x_k is not part of a tangent force, so
that a lone token feels a force of 1e-50 with full relative precision.

States are (n, d), or (n, d + 1) with ln r in the last column (see `parkade.model.parts.norm`):

    dθ_k/dt = (1/s_k) P_k f_k,      d ln r_k/dt = (1/s_k) ⟨x_k, F_k⟩.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from parkade.base.types import Array

POST, PRE, PERI, NGPT, SQRT = range(5)
"""Normalisations of a transformer, by number."""

RELU, GELU, SILU = range(3)
"""Activations of an MLP, by number."""

EVERYTHING = 2**62
"""A window or a prefix that never ends."""


class Field(NamedTuple):
    """A transformer in the form that the compiled code needs."""

    queries: Array  # (H m, d): log2(e) β_h Q_h, head after head; scores are in base 2
    keys: Array  # (H m, d): K_h
    reach: Array  # (H,): the spectral norms of K_h, so no key is longer
    values: Array  # (H r, d): W_h
    outputs: Array  # (d, H r): O_h
    own_value: Array  # (d, d): B
    leading: float  # λ
    slopes: Array  # (H,): log2(e) times the bias of each head against distance
    turns: Array  # (H, p): angles per place by which R_k turns planes of queries and keys
    inner: Array  # (p, d): the first layer of the MLP; p = 0 without one
    inner_bias: Array  # (p,)
    outer: Array  # (d, p): the second layer
    outer_bias: Array  # (d,)
    activation: int
    norm: int
    alpha: float  # the rate of nGPT
    window: int  # token k attends to no token up to k − window
    prefix: int  # the number of first tokens that all attend to each other
    causal: bool  # whether no token attends to a later one
    origin: float  # the time at which the run begins
    now: Array  # (1,): the time, set by `tick`
    query: Array  # (1, 1): the sharpness, in base 2; steps depend on it
    value: Array  # (1, 1): the rate
    accuracy: float  # 0: sums are direct
    floor: float  # as in `System`
    stretch: float  # as in `System`
    table: Any  # None, as in a `System` with direct sums
    followers: Array  # (H, n, n): factors of the weights of keys, or empty; see `rest`
