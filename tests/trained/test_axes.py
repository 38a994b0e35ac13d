"""Axes of heads, and models with changed axes and spectra, against whole d×d matrices."""

from __future__ import annotations

import numpy as np
import pytest
from support import trained_families as tiny
from support import trained_files as written
from support.planted import planted

from parkade.base.errors import InputError
from parkade.trained import flows, forward
from parkade.trained.meaning import edits
from parkade.trained.meaning.axes import ALL, axes_of, matrices

IDS = [3, 1, 4, 1, 5, 9, 2, 6]


def inside(basis, vectors):
    """How far vectors are from the span of an orthonormal basis, relative to their length."""
    off = vectors - vectors @ basis.T @ basis
    return np.linalg.norm(off) / np.linalg.norm(vectors)


@pytest.mark.parametrize("family", tiny.FLOWS)
@pytest.mark.parametrize("head", [0, 1, ALL])
def test_axes_are_those_of_the_whole_matrix(tmp_path, family, head):
    model, _, _ = written.load(tmp_path, family, 11)
    V, out = matrices(model, 1, head)
    whole = out @ V
    axes = axes_of(V, out)
    if head == ALL:
        np.testing.assert_allclose(whole, model.sum_of_values(1), atol=1e-12)
    values = np.linalg.eigvals(whole)
    lead, last = axes.spectrum[0], axes.spectrum[np.argmin(axes.spectrum.real)]
    assert max(values.real) == pytest.approx(lead.real, abs=1e-9)
    for basis, matrix, value in (
        (axes.writes, whole, lead), (axes.reads, whole.T, lead), (axes.negative, whole, last),
    ):  # fmt: skip
        np.testing.assert_allclose(basis @ basis.T, np.eye(len(basis)), atol=1e-10)
        assert inside(basis, basis @ matrix.T) < 1e-8  # invariant
        small = np.linalg.eigvals(basis @ matrix @ basis.T)
        assert np.abs(small - value).min() < 1e-8 * max(1, abs(value))
        assert len(basis) == (1 if abs(value.imag) < 1e-9 else 2)
    u, sizes, vt = np.linalg.svd(whole)
    assert sizes[0] - sizes[1] > 1e-3
    pair = np.sign(u[:, 0] @ axes.singular_writes[0])
    np.testing.assert_allclose(pair * axes.singular_writes[0], u[:, 0], atol=1e-8)
    np.testing.assert_allclose(pair * axes.singular_reads[0], vt[0], atol=1e-8)


def test_a_plane_is_turned_from_its_first_to_its_second_axis():
    rng = np.random.default_rng(3)
    for _ in range(20):
        V, out = rng.standard_normal((2, 4, 9))
        axes = axes_of(V, out.T)
        if len(axes.writes) == 2:
            small = axes.writes @ out.T @ V @ axes.writes.T
            assert np.sign(small[1, 0] - small[0, 1]) == np.sign(axes.spectrum[0].imag) == 1


def test_what_is_read_is_scaled_and_written():
    """V = λ ξηᵀ/⟨η, ξ⟩ + the rest: tokens orthogonal to η get nothing along ξ's eigenvalue."""
    model, _ = planted(1)
    V, out = matrices(model, 0, 0)
    axes = axes_of(V, out)
    (xi,), (eta,) = axes.writes, axes.reads
    x = np.random.default_rng(0).standard_normal(len(xi))
    assert eta @ (out @ V @ x) == pytest.approx(axes.spectrum[0].real * (eta @ x))
    assert axes.overlap == pytest.approx(xi @ eta)
    assert xi @ eta > 0


@pytest.mark.parametrize("family", ["llama", "gpt2", "neox", "bert"])
@pytest.mark.parametrize(("change", "factor"), [("remove", 0), ("flip", -1), (2.5, 2.5)])
def test_a_changed_axis_against_states_changed_by_hand(tmp_path, family, change, factor):
    model, _, _ = written.load(tmp_path, family, 5)
    V, out = matrices(model, 1, 2 if family == "llama" else 1)
    values, vectors = np.linalg.eig(out @ V)
    lead = vectors[:, np.argmax(values.real)]
    parts = [lead.real, lead.imag] if np.abs(lead.imag).max() > 1e-9 else [lead.real]
    projector = np.linalg.pinv(np.array(parts)) @ np.array(parts)
    before = model.read(IDS)
    x = before.hidden[1] + (factor - 1) * before.hidden[1] @ projector.T
    expected = forward.layer(model.block(1), model.shape, x.copy())[1]
    after = model.with_axis(1, 2 if family == "llama" else 1, change).read(IDS, attention=True)
    np.testing.assert_array_equal(after.hidden[:2], before.hidden[:2])
    np.testing.assert_allclose(after.hidden[2], expected, atol=1e-9)
    seen = x if model.shape.order == "post" else model.block(1).norms[0](x)
    expected = forward.attention_matrix(model.block(1).attention, model.shape, seen)
    np.testing.assert_allclose(after.attention[1], expected, atol=1e-9)
    assert np.abs(after.logits - before.logits).max() > 1e-3


def test_changes_of_an_axis_add_up(tmp_path):
    model, _, _ = written.load(tmp_path, "llama", 5)
    logits = model.read(IDS).logits
    twice = model.with_axis(1, 0, "flip").with_axis(1, 0, "flip")
    np.testing.assert_allclose(twice.read(IDS).logits, logits, atol=1e-9)
    gone = model.with_axis(1, 0, "flip").with_axis(1, 0, "remove").read(IDS).logits
    np.testing.assert_allclose(gone, model.with_axis(1, 0, 0.0).read(IDS).logits, atol=1e-9)
    assert "axis of layer 1, head 0: flip" in twice.name
    with pytest.raises(InputError, match="changes tokens before layer 1, which no flow does"):
        twice.layer(1)
    assert twice.without("mlp").block(1).before is not None


def spectral(matrix, factors):
    """Σ s_i λ_i ξ_i η_iᵀ/⟨η_i, ξ_i⟩, term by term."""
    values, right = np.linalg.eig(matrix)
    also, left = np.linalg.eig(matrix.T)
    total = np.zeros(matrix.shape, complex)
    for i, value in enumerate(values):
        if abs(value) < 1e-8:
            continue
        j = np.argmin(np.abs(also - value))
        term = np.outer(right[:, i], left[:, j]) / (left[:, j] @ right[:, i])
        total += factors(value) * value * term
    return total.real


@pytest.mark.parametrize("family", tiny.FLOWS)
@pytest.mark.parametrize(("positive", "negative"), [(0, 1), (1, 0), (-1, 1), (0.5, 2)])
def test_a_changed_spectrum_against_its_sum_of_terms(tmp_path, family, positive, negative):
    model, _, _ = written.load(tmp_path, family, 9)
    changed = model.with_spectrum(1, 1, positive=positive, negative=negative)
    for head in range(model.head_count):
        (V, out), (V1, out1) = matrices(model, 1, head), matrices(changed, 1, head)
        expected = out @ V
        if head == 1:
            expected = spectral(out @ V, lambda λ: positive if λ.real > 0 else negative)
        np.testing.assert_allclose(out1 @ V1, expected, atol=1e-9)


@pytest.mark.parametrize("family", tiny.FLOWS)
def test_without_its_spectrum_a_head_is_its_biases(tmp_path, family):
    """All that is left of the head is the constant force of biases, as if V alone were 0."""
    model, _, _ = written.load(tmp_path, family, 9)
    changed = model.with_spectrum(1, 1, positive=0, negative=0)
    before, after = (flows.layer(one, 1, True, False) for one in (model, changed))
    sizes = [
        [np.abs(head.V).max() for head in (*one.heads, *one.parts) if hasattr(head, "V")][1]
        for one in (before, after)
    ]
    assert sizes[1] < 1e-9 < sizes[0]
    constants = [[p.vector for p in one.parts if p.kind == "constant"] for one in (before, after)]
    np.testing.assert_allclose(constants[0], constants[1], atol=1e-9)


def test_factors_of_one_change_nothing(tmp_path):
    model, _, _ = written.load(tmp_path, "gpt2", 9)
    same = model.with_spectrum(0, 0)
    np.testing.assert_allclose(same.read(IDS).logits, model.read(IDS).logits, atol=1e-9)


def test_a_matrix_without_eigenvectors_has_no_parts():
    with pytest.raises(InputError, match="no basis of eigenvectors"):
        edits.scaled(np.array([[1.0, 1.0], [0.0, 1.0]]), 0.0, 1.0)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda m: m.with_axis(2, 0, "flip"), "layer must be a whole number from 0 to 1, got 2"),
        (lambda m: m.with_axis(0, 7, "flip"), "head must be a whole number from 0 to 3, got 7"),
        (lambda m: m.with_axis(0, 0, "turn"), "change must be one of 'remove', 'flip', got 'turn'"),
        (lambda m: m.with_axis(0, 0, np.nan), "change must be finite"),
        (lambda m: m.with_spectrum(0, True), "head must be a whole number"),
        (lambda m: m.with_spectrum(0, 0, positive="x"), "positive must be"),
        (lambda m: edits.along(m, 0, np.zeros(16), -1), "vectors ≠ 0 of 16 numbers"),
        (lambda m: edits.along(m, 0, np.ones(3), -1), "vectors ≠ 0 of 16 numbers"),
    ],
)
def test_bad_input_gets_a_sentence(tmp_path, call, sentence):
    model, _, _ = written.load(tmp_path, "llama", 5)
    with pytest.raises(InputError, match=sentence):
        call(model)
