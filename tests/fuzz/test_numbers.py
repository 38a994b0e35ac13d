"""Numbers from 5e-324 to 1e308 as any argument: a result or one sentence.

`PARKADE_FUZZ` is the number of cases; each has its own seed, so that one can be run again.
"""

from __future__ import annotations

import math
import os
import shlex

import numpy as np
import pytest
from support.commands import invoke
from support.damage import outcome

import parkade as pk
from parkade import plots, theory
from parkade.explorer.settings.settings import Settings

CASES = int(os.environ.get("PARKADE_FUZZ", "100"))

SOUND = [0.0, 1e-50, 1e-30, 1e-8, 0.3, 1.0, 2.5, 3.0, 64.0, 1e3, 1e8, 1e16, 1e30, 1e50]
ODD = [5e-324, 1e-310, 1e-300, 1e-200, 1e-100, 9e-51, 2e50, 1e100, 1e154, 1e155, 1e200, 1e300,
       1e307, 1e308, 1.7976931348623157e308, -1.0, -1e308, math.nan, math.inf]  # fmt: skip
WHOLE = [0, 1, 2, 3, 7, 100, 10**12, 2**53, 2**63 - 1, 2**63, 10**30, 10**400, -1, True, 1.5]


def number(rng: np.random.Generator, odd: float = 0.5) -> float:
    return float(rng.choice(ODD if rng.random() < odd else SOUND))


def whole(rng: np.random.Generator):
    return WHOLE[rng.integers(len(WHOLE))]


def matrix(rng: np.random.Generator, d: int, odd: float = 0.1):
    """A number, a diagonal, or a matrix, dense or with entries of very different size."""
    size = number(rng, odd) if rng.random() < 0.5 else 1.0
    with np.errstate(all="ignore"):
        return [
            size * rng.choice([-1, 1]),
            size * rng.choice([-1, 0, 1e-9, 1], d),
            size * rng.standard_normal((d, d)),
            np.where(rng.random((d, d)) < 0.5, size, rng.standard_normal((d, d))),
        ][rng.integers(4)]


def request(rng: np.random.Generator) -> dict:
    """A small system with mostly valid numbers."""
    d, n, m = int(rng.integers(2, 4)), int(rng.integers(1, 5)), int(rng.integers(3))
    matrices = {name: matrix(rng, d) for name in "QKV"}
    size = float(np.abs(matrices["V"]).max())
    t_end = number(rng, 0.3)
    if rng.random() < 0.8:  # a few time scales of the model
        t_end = min(3 / size, 1e300) if 1e-300 < size < math.inf else 1.0
    weights = [number(rng, 0.1) if rng.random() < 0.5 else 1.0 for _ in range(m)]
    return {
        "model": {"d": d, "beta": number(rng, 0.1), "mask": rng.choice(["causal", "full"])}
        | matrices,
        "x0": pk.sphere.uniform(n, d, seed=rng),
        "t_end": t_end,
        "tol": number(rng) if rng.random() < 0.05 else float(rng.choice([1e-2, 1e-6, 1e-13])),
        "method": rng.choice(["auto", "explicit", "implicit"]),
        "sums": rng.choice(["auto", "direct", "harmonic"], p=[0.6, 0.3, 0.1]),
        "frozen": (pk.sphere.uniform(m, d, seed=rng), weights) if m else (None, None),
    }


def run(asked: dict) -> None:
    """Simulate and use the result; long runs are cut off."""
    model, x0, t_end = pk.Attention(**asked["model"]), asked["x0"], asked["t_end"]
    options = {name: asked[name] for name in ("tol", "method", "sums")}
    frozen, weights = asked["frozen"]
    made = pk.simulate(
        model, x0, t_end, frozen=frozen, frozen_weights=weights, max_steps=5000, **options
    )
    assert np.abs(np.linalg.norm(made.tokens, axis=-1) - 1).max() < 1e-9
    assert made.times[-1] == t_end
    made.merge_tree().to_text()
    made.merge_tree().to_json()
    model.velocity(x0)


@pytest.mark.filterwarnings("ignore::parkade.TrustWarning")
def test_runs():
    done = 0
    for case in range(CASES):
        asked = request(np.random.default_rng(case))
        done += not outcome(f"case {case}, {asked}", run, asked)[1]
    assert done > CASES // 5


X2, X3 = pk.sphere.uniform(6, 2, seed=0), pk.sphere.uniform(6, 3, seed=0)

TAKERS = {
    "h": lambda r: theory.lemmas.h(number(r), number(r)),
    "g": lambda r: theory.lemmas.g(number(r), number(r)),
    "h_max": lambda r: theory.lemmas.h_max(number(r)),
    "g_min": lambda r: theory.lemmas.g_min(number(r)),
    "smallest_c": lambda r: theory.lemmas.smallest_c(number(r)),
    "simple_time": lambda r: theory.lemmas.simple_time(number(r), number(r), number(r), whole(r)),
    "cap_fraction": lambda r: theory.cap_fraction(number(r), whole(r)),
    "expected_strong_centers": lambda r: theory.expected_strong_centers(
        number(r), whole(r), whole(r)
    ),
    "sample": lambda r: theory.expected_strong_centers_of_sample(X3, number(r), 3),
    "parking_function": lambda r: theory.parking_function(number(r)),
    "expected_renyi_centers": lambda r: theory.expected_renyi_centers(number(r)),
    "first_token": lambda r: theory.first_token(matrix(r, 3, 0.5), X3[0], [number(r)]),
    "energies": lambda r: theory.sequential_energies(
        X3, number(r), frozen=X3[:1], frozen_weights=[number(r)]
    ),
    "von_mises_fisher": lambda r: pk.sphere.von_mises_fisher(3, 3, number(r), seed=r),
    "mixture": lambda r: pk.sphere.mixture(3, 3, whole(r), number(r), seed=r),
    "normalize": lambda r: pk.sphere.normalize([[number(r), number(r)]]),
    "from_angles": lambda r: pk.sphere.from_angles([number(r)]),
    "angles": lambda r: pk.sphere.angles([[number(r), number(r)]]),
}
"""Functions whose results must not contain NaN."""

OTHERS = {
    "strong_center_guarantee": lambda r: theory.strong_center_guarantee(X2, number(r), number(r)),
    "final_configuration": lambda r: theory.final_configuration(
        matrix(r, 3, 0.5), tol=number(r) if r.random() < 0.5 else 1e-12
    ),
    "effective_exponent": lambda r: theory.effective_exponent(matrix(r, 3, 0.5)),
    "capture_window": lambda r: theory.capture_window(
        **{k: number(r) for k in ("N", "c", "eps", "beta") if r.random() < 0.7}
    ),
    "renyi_centers": lambda r: pk.renyi_centers(X3, number(r)),
    "strong_renyi_centers": lambda r: pk.strong_renyi_centers(
        X3, number(r), model=pk.Attention(3, Q=matrix(r, 3), K=matrix(r, 3))
    ),
    "cluster_labels": lambda r: pk.cluster_labels(X3, number(r)),
    "Attention": lambda r: repr(pk.Attention(whole(r), number(r), V=number(r), Q=number(r))),
    "Settings": lambda r: Settings.read(
        {k: number(r) for k in ("n", "d", "beta", "c", "seed", "T") if r.random() < 0.5}
        | {k: f"{number(r)}" for k in "VQK" if r.random() < 0.5}
    ),
}


@pytest.mark.parametrize("name", [*TAKERS, *OTHERS])
def test_functions(name):
    def call(rng: np.random.Generator) -> None:
        if name in OTHERS:
            OTHERS[name](rng)
        else:
            assert not np.isnan(np.asarray(TAKERS[name](rng), dtype=float)).any()

    for case in range(CASES // 4):
        outcome(f"case {case}", call, np.random.default_rng(case))


def test_commands():
    for case in range(CASES // 4):
        rng = np.random.default_rng(case)
        options = [f"--{name} {number(rng)!r}" for name in ("V", "Q", "K", "beta")]
        ends = [5e-324, 1e-201, 1e308, math.nan, -1.0] if rng.random() < 0.3 else [1e-60]
        line = "simulate --n 3 --d 2 --quiet " + " ".join(o for o in options if rng.random() < 0.3)
        result = invoke(*shlex.split(f"{line} --t-end {rng.choice(ends)}"))
        assert result.exit_code in (0, 2), f"case {case}: {line}: {result.exception!r}"
        if result.exit_code == 2:
            assert result.stderr.splitlines()[-1].startswith("parkade: "), f"case {case}: {line}"


@pytest.mark.parametrize("V", [1e-50, 1.0, 1e50])
def test_the_unit_of_time_can_be_any(V):
    x0 = pk.sphere.uniform(6, 3, seed=1)
    usual = pk.simulate(pk.Attention(3, beta=4.0), x0, 8.0, times="final")
    for method in ("explicit", "implicit"):
        run = pk.simulate(pk.Attention(3, beta=4.0, V=V), x0, 8.0 / V, method=method)
        assert np.abs(run.final - usual.final).max() < 1e-4
        plots.overview(run).draw_without_rendering()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"V": 1e155}, "V must be 0 or have its largest entry between 1e-50 and 1e+50 in size, "
         "got 1e+155; move a factor from V to t_end, which only changes the unit of time"),
        ({"V": [5e-324, 0]}, "V must be 0 or have its largest entry between"),
        ({"Q": 1e308}, "move a factor from Q to beta"),
        ({"beta": 1e308}, "beta must be at most 1e+50, got 1e+308"),
    ],
)  # fmt: skip
def test_known_cases(arguments, said):
    with pytest.raises(pk.InputError) as caught:
        pk.Attention(2, **arguments)
    assert said in str(caught.value)


def test_without_a_compiler(monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    for call in (
        lambda: pk.simulate(pk.Attention(2), X2, 1.0),
        lambda: pk.simulate_many(pk.Attention(2), [X2], 1.0),
        lambda: pk.ensemble(d=2, n=3, runs=1, t_end=1.0),
    ):
        with pytest.raises(pk.InputError, match=r"needs Numba's compiler, .*=1 turns it off; unse"):
            call()
    for harmless in ("0", "", "no"):
        monkeypatch.setenv("NUMBA_DISABLE_JIT", harmless)
        pk.simulate(pk.Attention(2), X2, 1.0)
