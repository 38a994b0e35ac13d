"""Random transformers: no unexpected error, no NaN, on the sphere, and both methods agree.

`python tests/fuzz/test_transformers.py 17 42` runs some of the cases again and prints the results.
"""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest
from support.transformers import random_state, random_transformer

import parkade as pk

CASES = int(os.environ.get("PARKADE_FUZZ", "100"))
GROUP = 20

TOL, TIGHT = 1e-6, 1e-9
FAR = 1e3 * TOL

TIMES = (1e-6, 0.1, 3.0, 30.0, 1e4, 1e12, 1e60)
SHORT = 30.0  # t·rate up to which methods are compared
STEPS = 1500


def case(number):
    """A model, its first state and a final time."""
    rng = np.random.default_rng([7, number])
    masks = ("causal", "window(1)", "window(3)", "prefix(1)", "prefix(3)", "full")
    model = random_transformer(number, masks=masks)
    sharp = float(10.0 ** rng.uniform(-2, 3))
    model = model.with_beta(sharp) if rng.random() < 0.5 else model
    if rng.random() < 0.3:  # value matrices that attract, so that long runs end
        heads = [pk.Head(h.Q, h.K, 1.0, h.beta) for h in model.heads]
        options = {"mlp": None, "norm": model.norm, "mask": model.mask, "position": model.position}
        model = pk.Transformer(heads, **options)
    state = random_state(model, int(rng.integers(1, 10)), number)
    if rng.random() < 0.3:
        state[:] = state[:1]  # duplicates
    return model, state, float(rng.choice(TIMES)) / model.rate


def run(model, state, t_end, method, tol):
    radii = np.exp(state[:, model.d]) if model.radii else None
    return pk.simulate(
        model, state[:, : model.d], t_end, radii=radii, method=method, tol=tol,
        max_steps=STEPS, partial=True, times="final",
    )  # fmt: skip


def check(number):
    """Run a case and return what is wrong with it; empty if nothing."""
    model, state, t_end = case(number)
    methods = ["auto", "explicit"] + ["implicit"] * model.triangular
    ends = {}
    for method in methods:
        if method == "explicit" and t_end * model.rate > SHORT:
            continue
        try:
            result = run(model, state, t_end, method, TOL)
        except pk.ParkadeError as error:
            return f"{method}: {error}"
        if not np.isfinite(result.final).all():
            return f"{method}: not finite"
        if np.abs(np.linalg.norm(result.final, axis=1) - 1).max() > 1e-13:
            return f"{method}: off the sphere"
        if model.radii and not (np.isfinite(result.radii).all() and (result.radii > 0).all()):
            return f"{method}: lengths {result.radii}"
        if not result.stats.stopped:
            ends[method] = result.final
    if t_end * model.rate <= SHORT and {"explicit", "implicit"} <= ends.keys():
        apart = np.abs(ends["explicit"] - ends["implicit"]).max()
        if apart > FAR:
            tight = [run(model, state, t_end, method, TIGHT) for method in ("explicit", "implicit")]
            if any(one.stats.stopped for one in tight):
                return ""
            closer = np.abs(tight[0].final - tight[1].final).max()
            if closer > max(FAR, 0.1 * apart):  # not a matter of the tolerance
                return f"methods are {apart:.1e} apart, {closer:.1e} with tol={TIGHT:g}"
    return ""


@pytest.mark.filterwarnings("ignore::parkade.TrustWarning")
@pytest.mark.parametrize("first", range(0, CASES, GROUP))
def test_transformers(first):
    wrong = {i: said for i in range(first, min(CASES, first + GROUP)) if (said := check(i))}
    assert not wrong


if __name__ == "__main__":
    for text in sys.argv[1:]:
        print(text, case(int(text))[0].label, "|", check(int(text)) or "fine")
