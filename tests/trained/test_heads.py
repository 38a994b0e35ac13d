"""The table of heads, against direct computations with d×d matrices."""

from __future__ import annotations

import numpy as np
import pytest
from support import trained as tiny
from support import trained_files as written

import parkade as pk
from parkade.trained import heads


def test_llama_against_whole_matrices(tmp_path):
    model, _, tensors = written.load(tmp_path, "llama", 3)
    table = model.heads(draws=50, seed=1)
    assert dict(table.sizes) == {"layer": 2, "head": 4, "component": 4, "draw": 50}
    d, m, share = 16, 4, 2
    for layer in range(2):
        at = f"model.layers.{layer}."
        gain = np.diag(tensors[f"{at}input_layernorm.weight"].astype(float))
        w = {
            name: tensors[f"{at}self_attn.{name}_proj.weight"].astype(float) @ gain
            for name in "qkv"
        }
        out = tensors[f"{at}self_attn.o_proj.weight"].astype(float)
        for h in range(4):
            one, shared = slice(h * m, h * m + m), slice(h // share * m, h // share * m + m)
            V = out[:, one] @ w["v"][shared]
            B = w["q"][one].T @ w["k"][shared] / np.sqrt(m)
            row = table.isel(layer=layer, head=h)
            values = np.linalg.eigvals(V)
            values = values[np.argsort(-np.abs(values))][:m]
            spectrum = row.spectrum.values
            assert np.abs(spectrum[:, None] - values).min(axis=0).max() < 1e-9
            assert row.balance == pytest.approx(values.sum().real / np.abs(values).sum())
            symmetric = np.linalg.norm((B + B.T) / 2)
            assert row.beta == pytest.approx(symmetric * np.sqrt(d))
            assert row.symmetric == pytest.approx((symmetric / np.linalg.norm(B)) ** 2)
            assert row["size"] == pytest.approx(np.linalg.norm(V, 2))
            assert row["rank"] == np.linalg.matrix_rank(V)
            on_range = w["v"][shared] @ out[:, one]
            assert str(row.kind.values) == pk.theory.final_configuration(on_range).kind


def test_centred_norms_take_out_the_mean(tmp_path):
    model, _, tensors = written.load(tmp_path, "gpt2", 3)
    d, m = 12, 4
    C = np.eye(d) - 1 / d
    gain = np.diag(tensors["h.1.ln_1.weight"].astype(float)) @ C
    both = tensors["h.1.attn.c_attn.weight"].astype(float).T
    out = C @ tensors["h.1.attn.c_proj.weight"].astype(float).T
    V = sum(out[:, h * m : h * m + m] @ both[2 * d + h * m :][:m] @ gain for h in range(3))
    np.testing.assert_allclose(model.sum_of_values(1), V, atol=1e-12)
    B = (both[:m] @ gain).T @ (both[d : d + m] @ gain) / np.sqrt(m)
    beta = np.linalg.norm((B + B.T) / 2) * np.sqrt(d)
    assert model.heads(draws=10).beta[1, 0] == pytest.approx(beta)


def test_effective_beta_of_the_identity():
    """Q = K with QᵀQ = β·I: effective β is β, and the head of a flow has it as its β."""
    from parkade.trained.flows import effective_beta

    d, beta = 6, 5.0  # scores d⟨θ, Bθ⟩ with B = QᵀK/√d must be β⟨θ, θ⟩
    Q = np.eye(d) * np.sqrt(beta / np.sqrt(d))
    assert effective_beta(Q, Q, d) == pytest.approx(beta)


def test_kinds():
    rows = [[2, 1], [1 + 1j, 1 - 1j], [-1, -2], [-1 + 1j, -1 - 1j], [0, -1], [1j, -1j]]
    names = ["two points", "rotation", "two clouds", "outside", "outside", "outside"]
    assert heads.kinds(np.array(rows, complex)).tolist() == names


def test_p_values_of_random_heads_are_uniform(tmp_path):
    """60 heads that are random: Kolmogorov–Smirnov, p > 1e-3 but for one seed in a thousand."""
    config, tensors = tiny.llama(np.random.default_rng(11), d=24, heads=6, kv=6, layers=10)
    rng = np.random.default_rng(12)
    tensors = {
        name: np.ones_like(x) if x.ndim == 1 else rng.standard_normal(x.shape).astype(np.float32)
        for name, x in tensors.items()
    }
    model = pk.trained.load(written.write_folder(tmp_path / "random", config, tensors))
    table = model.heads(draws=999, seed=2)
    from scipy.stats import kstest

    for name in ("balance_p", "symmetric_p"):
        assert kstest(table[name].values.ravel(), "uniform").pvalue > 1e-3
    assert float(table.balance_holm.min()) > 0.01
    assert float(table.balance_p.min()) >= 1 / 1000


def test_p_values_and_holm():
    p = heads.p_values(np.array([0.5, 0.0, -0.25]), np.array([-0.3, 0.1, 0.2, -0.1]), 0.0)
    np.testing.assert_allclose(p, [1 / 5, 1.0, 2 / 5])
    p = np.array([0.01, 0.04, 0.03, 0.005])
    np.testing.assert_allclose(heads.holm(p), [0.03, 0.06, 0.06, 0.02])


def test_shared_layers_count_once(tmp_path):
    model, _, _ = written.load(tmp_path, "albert", 3, groups=1)
    table = model.heads(draws=99)
    assert np.ptp(table.balance.values[1:], axis=0).max() == 0
    for name in ("balance_holm", "symmetric_holm"):
        corrected = table[name].values
        np.testing.assert_array_equal(corrected[0], corrected[1])
