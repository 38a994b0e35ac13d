"""Runs in which tokens rest, beside runs in which all of them take part in all steps."""

from __future__ import annotations

import numpy as np

import parkade as pk

TOL = 1e-6
EARLY = 100.0  # clusters form until then, and merges take about as long
CALM = 5e-3  # this long before and after a merge, in units of the time, tokens need not agree
SAME = 1e-5  # how well times of merges agree

KINDS = "V=I", "diagonal", "symmetric", "Q and K", "Q, K and V"
"""Models with one head."""

TRANSFORMERS = "two heads", "window", "alibi", "pre", "pre in a window", "peri", "MLP"


def model_of(kind, d, n, beta, seed):
    """A model by its kind, with random numbers, for n tokens."""
    rng = np.random.default_rng(seed)
    if kind in KINDS:
        return pk.Attention(d, beta, **_matrices(kind, d, rng))
    heads, options = [pk.Head(d=d, beta=beta)], {}
    if kind == "two heads":
        heads.append(pk.Head(d=d, beta=beta / 4))
    if "window" in kind:
        options["mask"] = pk.Window(int(rng.integers(n // 3, n)))
    if kind == "alibi":
        options["position"] = pk.Alibi(float(np.exp(rng.uniform(-6, -2))))
    if kind.startswith("p"):
        options["norm"] = kind[:4].strip()
    if kind == "MLP":
        options["mlp"] = pk.MLP.random(d, 8, seed=seed)
    return pk.Transformer(heads, **options)


def _matrices(kind, d, rng):
    Q, K, A = rng.standard_normal((3, d, d)) / np.sqrt(d)
    match kind:
        case "V=I":
            return {}
        case "diagonal":
            return {"V": np.diag(np.sort(rng.uniform(0.2, 1, d))[::-1])}
        case "symmetric":
            return {"V": A @ A.T}
        case "Q and K":
            return {"Q": Q, "K": K}
        case _:
            return {"Q": Q, "K": K, "V": np.eye(d) + A @ A.T}


def random_case(seed):
    """A model of any kind, and a start."""
    rng = np.random.default_rng(1000 + seed)
    d, n = int(rng.choice([2, 3, 5])), int(rng.integers(30, 220))
    beta = float(np.exp(rng.uniform(np.log(4), np.log({2: 256, 3: 64, 5: 24}[d]))))
    kind = (KINDS + TRANSFORMERS)[seed % len(KINDS + TRANSFORMERS)]
    return kind, model_of(kind, d, n, beta, seed), pk.sphere.uniform(n, d, seed=seed)


def both(model, x, t_end, **options):
    """The run in which all tokens take part, and the run in which they may rest."""
    options = {"method": "implicit", "partial": True, "tol": TOL} | options
    return [pk.simulate(model, x, t_end, rest=rest, **options) for rest in (False, True)]


def merges(run):
    """Into which token each one merges, and when, after clusters have formed."""
    events = run.merge_tree().events
    return {one.absorbed: (one.into, one.time) for one in events if one.time > EARLY}


def differences(whole, rested):
    """What is not the same in both runs, as sentences."""
    expected, result = merges(whole), merges(rested)
    wrong = []
    for token, (into, t) in expected.items():
        if token not in result or result[token][0] != into:
            wrong.append(f"token {token} does not merge into {into} at t={t:g}")
        elif abs(result[token][1] / t - 1) > SAME:
            wrong.append(f"token {token} merges at t={result[token][1]:.8g}, not {t:.8g}")
    end = min(whole.times[-1], rested.times[-1])
    if abs(whole.times[-1] / rested.times[-1] - 1) > SAME:
        wrong.append(f"runs end at t={whole.times[-1]:g} and {rested.times[-1]:g}")
    times = calm_times(
        np.geomspace(1, end, 500), [t for _, t in (*expected.values(), *result.values())]
    )
    gaps = farthest(whole, rested, times)
    if gaps.max() > 2 * TOL:  # or else where the other run is as far from the truth
        options = {"method": "implicit", "partial": True, "tol": TOL / 100, "rest": False}
        exact = pk.simulate(whole.model, whole.tokens[0], end, **options)
        gaps -= 2 * farthest(whole, exact, np.minimum(times, exact.times[-1]))
    if gaps.max() > 2 * TOL:
        wrong.append(f"tokens are {gaps.max():.1e} apart at t={times[gaps.argmax()]:g}")
    if whole.radii is not None:
        ratios = np.abs(np.log(whole.radii_at(times) / rested.radii_at(times))).max(axis=1)
        if ratios.max() > TOL:
            wrong.append(f"lengths are {ratios.max():.1e} apart at t={times[ratios.argmax()]:g}")
    return wrong


def farthest(one, other, times):
    """The largest distance of a token in one run from where it is in the other, at each time."""
    return np.linalg.norm(one.at(times) - other.at(times), axis=2).max(axis=1)


def calm_times(times, merging):
    """Those of the times that are not in the middle of merges."""
    merging = np.array(merging).reshape(-1, 1)
    busy = (np.abs(times - merging) < 100) | (np.abs(np.log(times / merging)) < CALM)
    return times[~busy.any(axis=0)]
