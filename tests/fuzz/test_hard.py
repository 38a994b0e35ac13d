"""What found defects before: symmetric starts, equal eigenvalues, extreme numbers, no forces.

Each case has its own seed: `python tests/fuzz/test_hard.py blocks 17 42` runs some cases of a part
again and prints what is wrong with them.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from support.equations import NoSolutionError, force, solve
from support.hard import (
    Blocks,
    extreme_tokens,
    links,
    long_case,
    spread,
    symmetric_case,
    without_forces,
)
from support.marks import many
from support.transformers import assembled

import parkade as pk
from parkade.base.errors import StuckError
from parkade.solve.simulate import simulate

TOL, TIGHT = 1e-6, 1e-9
FAR = 100 * TOL
STEPS = 5000
BOTH = ("explicit", "implicit")
doubtful = pytest.mark.filterwarnings("ignore::parkade.TrustWarning")


# --- symmetric starts ------------------------------------------------------------------------


def too_sure(model, x, t_end, tol):
    """The two runs, and a sentence if they are far apart where one of them is trusted."""
    runs = [pk.simulate(model, x, t_end, method=method, tol=tol) for method in BOTH]
    times = np.linspace(0, t_end, 41)
    gaps = pk.sphere.distance(runs[0].at(times), runs[1].at(times)).max(axis=1)
    trusted = max(run.trusted_until for run in runs)
    wrong = (gaps > FAR) & (times <= trusted)
    if not wrong.any():
        return runs, ""
    t, gap = times[wrong.argmax()], gaps[wrong.argmax()]
    return runs, f"runs are {gap:.1e} apart at t={t:.3g}, one is trusted until {trusted:.3g}"


def symmetric(rng):
    """Runs that part are not trusted, and trusted ones hardly feel a change of 1e-15."""
    model, x, t_end = symmetric_case(rng)
    off = pk.sphere.normalize(x + 1e-15 * rng.standard_normal(x.shape))
    try:
        runs, said = too_sure(model, x, t_end, TOL)
        if said:  # unless the model amplifies errors of tol
            said = too_sure(model, x, t_end, TIGHT)[1]
        others = [pk.simulate(model, off, t_end, method=method) for method in BOTH]
    except StuckError:  # a length vanishes, or would if rounding did not prevent it
        return ""
    for method, run, other in zip(BOTH, runs, others, strict=True):
        t = min(run.trusted_until, t_end)
        gap = pk.sphere.distance(run.at(t), other.at(t)).max()
        if gap > FAR:
            said += f" {method}: a change of 1e-15 moves tokens by {gap:.1e} until t={t:.3g}"
    return said


def blocks(rng):
    """The first token is where e^{tV} takes it, if V is known up to rounding of its Schur form.

    Entries of that size count as zero: a V that is diagonalisable in decimals is so in a run.
    """
    made = Blocks(rng)
    x = pk.sphere.uniform(int(rng.integers(1, 5)), len(made.V), seed=rng)
    t_end = float(10.0 ** rng.uniform(0, 16))
    model = pk.Attention(V=made.V, beta=float(rng.uniform(0, 4)))
    said = ""
    for method in ("auto", "implicit"):
        run = pk.simulate(model, x, t_end, method=method, max_steps=STEPS, partial=True)
        if not np.isfinite(run.tokens).all():
            return f"{method}: not finite"
        for t in {float(run.times[-1]), float(run.times[len(run.times) // 2])}:
            if min(run.trusted_until, run.phase_known_until) < t:
                continue
            error = float(np.linalg.norm(run.at(t)[0] - made.first(x[0], t)))
            rounded = 1e-13 * len(made.V)
            if error > 10 * TOL and (made.robust or spread(made.V, x[0], t, rounded, rng) < TOL):
                said += f" {method}: {error:.1e} at t={t:.3g}"
    return said


# --- extreme numbers -------------------------------------------------------------------------

SIZES = [0.0, 1e-300, 1e-200, 1e-160, 1e-100, 1e-50, 1e-17, 1e-8, 1e-3, 1.0, 3.0, 1e3, 1e150, 1e300]


def extreme_clusters(rng):
    """Labels, centres and counts are those of exact distances, or the radius is refused."""
    x, radius = extreme_tokens(rng), float(rng.choice(SIZES)) * float(rng.choice([1.0, 1.7]))
    try:
        labels = pk.cluster_labels(x, radius)
        counts = pk.clusters.count_by_radius(x, [radius]).counts
        centers = pk.renyi_centers(x, radius)
        strong = pk.strong_renyi_centers(x, radius)
        steps = pk.clusters.count_by_radius(x)
    except pk.InputError as error:
        return "" if radius > np.pi and "\n" not in str(error) else str(error)
    if not np.isfinite(steps.radii).all() or not set(strong) <= set(centers):
        return f"steps {steps.radii}, centres {centers}, strong ones {strong}"
    expected = links(x, radius)
    if expected is not None and (
        labels.tolist() != expected or counts.tolist() != [len(set(expected))]
    ):
        return f"labels {labels}, counts {counts}, expected {expected} for {radius:g}"
    return ""


def extreme_runs(rng):
    """A run without NaN, or a sentence."""
    x = extreme_tokens(rng)
    d = x.shape[1]
    sizes = [float(rng.choice(SIZES)) if rng.random() < 0.3 else 1.0 for _ in range(4)]
    V = np.where(rng.random((d, d)) < 0.7, rng.standard_normal((d, d)), 1.0)
    entries = rng.choice([1e-300, 1e-30, 1.0], (d, d)) if rng.random() < 0.3 else 1.0
    try:
        model = pk.Attention(
            V=sizes[0] * entries * V,
            Q=sizes[1] * np.eye(d),
            K=sizes[2] * np.eye(d),
            beta=sizes[3] * float(rng.uniform(0, 9)),
            mask=str(rng.choice(["causal", "full"])),
        )
        t_end = float(rng.choice([1e-3, 3.0, 1e3])) / max(model.rate, 1e-60)
        run = pk.simulate(
            model, x, t_end, method=str(rng.choice(BOTH)), max_steps=STEPS // 5, partial=True
        )
    except pk.ParkadeError as error:
        return "" if "\n" not in str(error) else str(error)
    sound = np.isfinite(run.tokens).all() and np.isfinite(run.times).all()
    on_sphere = np.abs(np.linalg.norm(run.tokens, axis=-1) - 1).max() < 1e-13
    return "" if sound and on_sphere and run.trusted_until >= 0 else "not finite, or off the sphere"


# --- no forces -------------------------------------------------------------------------------


def reference(model, x, logs, t_end):
    """Directions and ln r at the end; None if a length or a force vanishes before."""
    if model.norm in ("peri", "ngpt") and not force(model, x).any(axis=1).all():
        return None  # a speed of 0/0
    try:
        with np.errstate(all="ignore"):
            return solve(model, x, logs, (0.0, t_end))
    except (NoSolutionError, ValueError):
        return None


def no_force(rng):
    """Tokens without a force: an error where their speed is 0/0, otherwise a right result.

    Some slide along a place where the force of nGPT turns round, by tiny steps: no result is right.
    """
    model, x, logs, t_end = without_forces(rng)
    ours = assembled(model)
    options = {"radii": np.exp(logs) if ours.radii else None, "max_steps": STEPS}
    runs, stuck = {}, {}
    for method in BOTH if ours.triangular else BOTH[:1]:
        try:
            runs[method] = pk.simulate(ours, x, t_end, method=method, **options)
        except StuckError as error:
            stuck[method] = str(error)
        except pk.UnfinishedError:
            return ""
    end = reference(model, x, logs, t_end)
    if end is None:
        return f"{', '.join(runs)}: there is no solution" if runs else ""
    said = " ".join(stuck.values())
    for method, run in runs.items():
        if not (np.isfinite(run.tokens).all() and np.isfinite(run.times).all()):
            said += f" {method}: not finite"
        elif (error := np.linalg.norm(run.final - end[0], axis=1).max()) > FAR:
            said += f" {method}: {error:.1e}"
        elif ours.radii and np.abs(np.log(run.radii[-1]) - end[1]).max() > FAR:
            said += f" {method}: lengths {run.radii[-1]}"
    return said


# --- longer runs -----------------------------------------------------------------------------


def longer(rng):
    """A longer run never trusts more."""
    model, x, radii, first, t_end = long_case(rng)
    method = str(rng.choice(["auto", *BOTH])) if t_end * model.rate < 1e3 else "auto"
    options = {"method": method, "max_steps": STEPS // 5, "partial": True, "times": "final"}
    try:
        runs = [pk.simulate(model, x, t, radii=radii, **options) for t in (first, t_end)]
    except StuckError:  # a length vanishes
        return ""
    reached = min(float(run.times[-1]) for run in runs)
    limits = [min(run.trusted_until, reached) for run in runs]
    names = " and ".join(run.stats.method for run in runs)
    # Trust may end at the start of a step, and explicit steps are long where tokens rest.
    slack = 0.2 if "explicit" in names else 1e-6
    if limits[1] <= limits[0] * (1 + slack):
        return ""
    return f"{names}: {limits[0]!r} for t_end={first:g}, {limits[1]!r} for {t_end:g}"


PARTS = {
    "symmetric": (symmetric, many(20, 3000)),
    "blocks": (blocks, many(10, 1000)),
    "clusters": (extreme_clusters, many(100, 10000)),
    "runs": (extreme_runs, many(50, 5000)),
    "no force": (no_force, many(20, 1000)),
    "longer": (longer, many(40, 3000)),
}
SHARES = many(1, 10)


def wrong_with(part, number):
    """What is wrong with a case; empty if nothing."""
    seed = [*part.encode(), number]
    return PARTS[part][0](np.random.default_rng(seed)).strip()


@doubtful
@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.parametrize("part", PARTS)
def test_hard(part, share):
    cases = range(share, PARTS[part][1], SHARES)
    assert not {i: said for i in cases if (said := wrong_with(part, i))}


def too_trusting(*arguments, **options):
    return replace(simulate(*arguments, **options), trusted_until=np.inf)


def more_with_time(model, tokens, t_end, **options):
    run = simulate(model, tokens, t_end, **options)
    return replace(run, trusted_until=run.trusted_until * np.log1p(t_end))


def astray(*arguments, **options):
    run = simulate(*arguments, **options)
    return replace(run, tokens=pk.sphere.normalize(run.tokens + 1e-3 * run.tokens[..., ::-1]))


BROKEN = {
    "symmetric": ("simulate", too_trusting),
    "blocks": ("simulate", astray),
    "clusters": ("cluster_labels", lambda tokens, radius: np.arange(len(tokens))),
    "runs": ("simulate", lambda *a, **o: SimpleNamespace(tokens=np.array([np.nan]), times=0.0)),
    "no force": ("simulate", astray),
    "longer": ("simulate", more_with_time),
}


@doubtful
@pytest.mark.parametrize("part", BROKEN)
def test_what_is_broken_is_found(part, monkeypatch):
    monkeypatch.setattr(pk, *BROKEN[part])
    assert any(wrong_with(part, i) for i in range(20))


if __name__ == "__main__":
    warnings.simplefilter("ignore", pk.TrustWarning)
    for text in sys.argv[2:]:
        print(text, wrong_with(sys.argv[1], int(text)) or "fine")
