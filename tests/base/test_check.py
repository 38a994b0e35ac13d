"""Validation: every error message says what is wrong and what was expected."""

from __future__ import annotations

import numpy as np
import pytest

import parkade as pk
from parkade.base import check


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: check.array("Q", "abc"), r"Q must be real numbers, got 'abc'"),
        (lambda: check.array("Q", [[1, 2], [3]]), r"numbers, got \[\[1, 2\], \[3\]\]: .*shape"),
        (lambda: check.number("beta", "abc"), r"beta must be a real number, got 'abc'$"),
        (lambda: check.array("Q", [1j]), r"Q must be real numbers, got \[1j\]"),
        (lambda: check.array("Q", [[0, 1], [np.nan, 0]]), r"finite, got nan at index 1, 0"),
        (lambda: check.number("beta", [1, 2]), r"beta must be one number, .* shape \(2,\)"),
        (lambda: check.number("beta", np.inf), r"beta must be finite, got inf$"),
        (lambda: check.positive("t_end", 0), r"t_end must be > 0, got 0"),
        (lambda: check.positive_int("n", -3), r"n must be a whole number ≥ 1, got -3"),
        (lambda: check.dimension(1), r"d must be ≥ 2, got 1"),
        (lambda: check.choice("mask", "half", ("causal", "full")), r"'causal', 'full', got 'half'"),
        (lambda: check.choice("mask", ["causal"], ("causal",)), r"got \['causal'\]"),
        (lambda: check.tokens([1.0, 0.0]), r"an \(n, d\) array, got shape \(2,\)"),
        (lambda: check.tokens(np.empty((0, 3))), r"at least one token, got shape \(0, 3\)"),
        (lambda: check.tokens([[1.0]]), r"d must be ≥ 2, got 1"),
        (lambda: check.tokens(np.eye(3), d=2), r"d=2 columns like the model, got shape \(3, 3\)"),
        (lambda: check.matrix("V", [1, 2, 3], 2), r"V must be .*length 2.*2×2.*got shape \(3,\)"),
        (lambda: check.times([], 1), r"non-empty 1-D array, got shape \(0,\)"),
        (lambda: check.times([[0.0]], 1), r"non-empty 1-D array, got shape \(1, 1\)"),
        (lambda: check.times([1, 0], 1), r"times must not decrease; pass numpy.sort\(times\)"),
        (lambda: check.times([0, 2], 1), r"lie in \[0, t_end=1\], got 0 … 2; raise t_end"),
        (lambda: check.times([-1, 0], 1), r"lie in \[0, t_end=1\], got -1 … 0"),
        (lambda: check.generator(1.5), r"an int or a numpy Generator, got 1\.5"),
        (lambda: check.generator(-1), r"seed must be ≥ 0, got -1"),
        (lambda: check.generator(True), r"an int or a numpy Generator, got True"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(pk.InputError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_an_input_error_is_a_value_error():
    assert issubclass(pk.InputError, ValueError)
    assert issubclass(pk.InputError, pk.ParkadeError)


def test_long_values_are_shortened():
    with pytest.raises(pk.InputError) as caught:
        check.choice("mask", "x" * 1000, ("causal",))
    assert len(str(caught.value)) < 120


def test_tokens_off_the_sphere_name_the_worst_row_and_its_norm():
    x = pk.sphere.uniform(5, 3, seed=1)
    x[1] *= 1.1
    x[3] *= 1.25
    with pytest.raises(pk.InputError, match=r"row 3 has norm 1\.25 .*sphere\.normalize"):
        check.tokens(x)


def test_nearly_unit_tokens_are_renormalised_into_a_copy():
    x = pk.sphere.uniform(5, 3, seed=1) * (1 + 5e-9)
    before = x.copy()
    unit = check.tokens(x)
    assert np.abs(np.linalg.norm(unit, axis=1) - 1).max() < 1e-15
    assert np.array_equal(x, before)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2.0, [[2.0, 0.0], [0.0, 2.0]]),
        ([1, 3], [[1.0, 0.0], [0.0, 3.0]]),
        ([[1, 2], [3, 4]], [[1.0, 2.0], [3.0, 4.0]]),
    ],
)
def test_matrix_takes_numbers_diagonals_and_matrices(value, expected):
    assert check.matrix("V", value, 2).tolist() == expected


def test_memory_message_has_need_supply_and_remedy(little_memory):
    check.fits_in_memory(1e4, "a small thing", "buy more")
    with pytest.raises(
        pk.InputError, match=r"a big thing needs 2 GiB .* 9\.31e-06 GiB.*; buy more"
    ):
        check.fits_in_memory(2 * 2**30, "a big thing", "buy more")


def test_no_message_is_longer_than_a_page():
    long = "x" * 5_000_000
    for call in (
        lambda: pk.Attention(d=2, mask=long),
        lambda: pk.load(long),
        lambda: pk.trained.load(long),
        lambda: pk.ensemble(d=2, n=4, runs=1, t_end=1.0, measure=long),
        lambda: pk.theory.forecast(pk.Attention(d=2), pk.sphere.uniform(3, 2, seed=1), pull=long),
    ):
        with pytest.raises(pk.InputError) as caught:
            call()
        assert len(str(caught.value)) < 2100
    error = pk.InputError(f"got {long}; use another one")
    assert str(error).startswith("got xxx")
    assert str(error).endswith("x; use another one")
    assert len(str(error)) < 2100
