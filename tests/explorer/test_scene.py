"""Scenes against the library they are made with."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest
from support.explorer import frames, labels

import parkade as pk
from parkade.explorer import Limits, Settings, scene
from parkade.explorer.build import build
from parkade.explorer.limits import CancelledError, TooLongError
from parkade.explorer.run import Work
from parkade.explorer.settings import FieldError
from parkade.explorer.verdict import verdict

CASES = {
    "circle": {"n": 60, "d": 2, "beta": 64, "T": 1e12},
    "sphere": {"n": 20, "d": 3, "V": "1,1,-1", "Q": "random:1", "T": 200},
    "turning": {"n": 12, "d": 3, "V": "1,-1,0;1,1,0;0,0,0", "T": 1000},
    "high": {"n": 20, "d": 5, "beta": 4, "T": 30},
    "full": {"n": 16, "d": 2, "mask": "full", "T": 100},
    "hot": {"n": 10, "d": 2, "beta": 0, "T": 10},
    "alone": {"n": 1, "d": 2, "T": 0.001},
}


@pytest.fixture(scope="module", params=CASES)
def shown(request):
    """Settings, the run the library makes of them, and their scene."""
    chosen = Settings.read(CASES[request.param])
    run = pk.simulate(chosen.model, chosen.start, chosen.T)
    return chosen, run, scene(chosen)


def test_a_scene_is_json(shown):
    chosen, _, found = shown
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["format"] == "parkade scene 1"
    assert found["settings"] == chosen.to_dict()


def test_frames_are_the_run(shown):
    chosen, run, found = shown
    times = np.array(found["times"])
    assert times[0] == 0
    assert times[-1] == chosen.T
    assert (np.diff(times) > 0).all()
    assert 40 <= len(times) <= 400
    assert np.abs(frames(found) - run.at(times)).max() < 1e-6


def test_labels_and_clusters_are_those_of_the_library(shown):
    chosen, run, found = shown
    radius = pk.clusters.default_radius(chosen.model)
    expected = [pk.cluster_labels(x, radius) for x in run.at(found["times"])]
    assert np.array_equal(labels(found), expected)
    tree = run.merge_tree()
    assert np.array_equal(found["clusters"], tree.count(found["times"]))
    assert [(m["absorbed"], m["into"], m["size"]) for m in found["merges"]] == [
        (e.absorbed, e.into, e.size) for e in tree.events
    ]
    assert [m["t"] for m in found["merges"]] == pytest.approx(
        [e.time for e in tree.events], rel=5e-3
    )
    assert [p["clusters"] for p in found["plateaus"]] == [p.clusters for p in tree.plateaus]
    for mine, theirs in zip(found["plateaus"], tree.plateaus, strict=True):
        assert mine["start"] == pytest.approx(theirs.start, rel=5e-3)
        assert mine["end"] == pytest.approx(theirs.end, rel=5e-3)
        assert mine["lifetime"] == pytest.approx(mine["end"] - mine["start"])


def test_centres_and_consumption_are_those_of_the_library(shown):
    chosen, run, found = shown
    assert found["delta"] == found["centers"]["delta"] == chosen.delta
    radius = found["consumption"]["radius"]
    for kind, find in [("renyi", pk.renyi_centers), ("strong", pk.strong_renyi_centers)]:
        who = find(chosen.start, chosen.delta)
        assert found["centers"][kind] == who.tolist()
        share = pk.consumption(run, who, radius, found["times"])
        assert found["consumption"][kind] == share.tolist()


def test_the_model_is_there(shown):
    chosen, run, found = shown
    x, model = chosen.start, chosen.model
    assert (found["n"], found["d"], found["beta"]) == (chosen.n, chosen.d, chosen.beta)
    assert found["mask"] == chosen.mask
    # The page's own attention matrix gives the model's velocity.
    scores = x @ np.array(found["A"]).T @ x.T
    if chosen.mask == "causal":
        scores[np.triu_indices(chosen.n, 1)] = -np.inf
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    pull = weights / weights.sum(axis=1, keepdims=True) @ x @ np.array(found["V"]).T
    velocity = pull - (pull * x).sum(axis=1, keepdims=True) * x
    assert velocity == pytest.approx(model.velocity(x), abs=1e-12)
    stats = dataclasses.asdict(run.stats)
    for name in ("method", "reason", "engine", "steps"):
        assert found["stats"][name] == stats[name]


def test_axes_are_the_principal_ones(shown):
    _, _, found = shown
    if found["d"] <= 3:
        assert found["axes"] is None
        return
    points = frames(found).reshape(-1, found["d"]).astype(float)
    axes = np.array(found["axes"]["directions"])
    assert axes @ axes.T == pytest.approx(np.eye(3), abs=1e-12)
    variance = np.linalg.eigvalsh(np.cov(points.T))[::-1]
    assert found["axes"]["variance"] == pytest.approx(variance[:3] / variance.sum(), rel=1e-4)
    assert np.var(points @ axes.T, axis=0) == pytest.approx(variance[:3], rel=1e-3)


def test_nothing_jumps():
    """Between two frames tokens go a short way, also when clusters merge after 10⁶."""
    found = scene({"n": 40, "d": 2, "beta": 25, "T": 1e9})
    moved = np.linalg.norm(np.diff(frames(found), axis=0), axis=2).max()
    assert moved < 0.15
    even = np.array(found["times"])
    even = np.searchsorted(even, np.geomspace(0.01, 1e9, 200)).clip(max=len(even) - 1)
    jumps = np.diff(frames(found)[even], axis=0)
    assert np.linalg.norm(jumps, axis=2).max() > 0.3  # they would with even steps


def test_what_never_rests_does_not_take_all_frames():
    found = scene({"n": 8, "V": "-1,-1,-2", "T": 1000})
    times = np.array(found["times"])
    assert len(times) <= 400
    assert ((times > 0) & (times < 1)).sum() >= 35


def test_frozen_tokens_are_put_back():
    chosen = Settings(n=60, d=2, beta=64, frozen="renyi", T=1e4)
    found = scene(chosen)
    held = chosen.held
    x = frames(found)
    assert found["n"] == 60
    assert found["frozen_tokens"] == held.tolist() == found["centers"]["renyi"]
    assert np.array(found["frozen"]) == pytest.approx(chosen.start[held], abs=1e-15)
    assert found["frozen_weights"] == [1.0] * len(held)
    assert np.array_equal(x[:, held], np.repeat(x[:1, held], len(x), axis=0))
    free = np.setdiff1d(np.arange(60), held)
    run = pk.simulate(chosen.model, chosen.start[free], 1e4, frozen=chosen.start[held])
    assert np.abs(x[:, free] - run.at(found["times"])).max() < 1e-6
    radius = pk.clusters.default_radius(chosen.model)
    assert np.array_equal(labels(found)[-1], pk.cluster_labels(x[-1] / np.linalg.norm(
        x[-1].astype(float), axis=1, keepdims=True), radius))  # fmt: skip
    assert found["clusters"][-1] == len(held) == len(set(labels(found)[-1].tolist()))
    assert found["theory"]["kind"] == "frozen"


@pytest.mark.parametrize(
    ("settings", "agrees", "predicted", "seen"),
    [
        ({"V": "I", "T": 1e9}, True, "every token ends at x_1(0) (Theorem 4.1)", "1 point at"),
        ({"V": "I", "T": 20}, None, "every token", "the run ends before it comes to rest"),
        ({"V": "1,1,-1", "T": 1e6}, True, "one point of L", "1 point in L"),
        ({"V": "1,0.5,0.25", "T": 1e4}, True, "two points ±ξ", "2 points in L"),
        ({"V": "-1,-1,-2"}, True, "a cloud around L", "of L at t = 1000"),
        ({"V": "-1,-2,-2"}, True, "two clouds around ±ξ", "of L at t = 1000"),
        ({"V": "1,-1,0;1,1,0;0,0,0"}, True, "keeps turning in its plane", "in L"),
        ({"V": "0"}, None, "no token moves", "points at"),
        ({"d": 4, "V": "-1,-1,-2,-2", "T": 20}, None, "a cloud around L", "of L"),
        ({"mask": "full", "T": 20}, None, "is for the causal mask", "points at"),
    ],
)
def test_the_line_of_theory(settings, agrees, predicted, seen):
    line = scene({"n": 32, **settings})["theory"]
    assert line["agrees"] is agrees
    assert predicted in line["predicted"]
    assert seen in line["seen"]


def test_a_counterexample_disagrees():
    """Two tokens that rest away from ±ξ, for general Q and K."""
    model = pk.Attention(V=[1, 0.5], beta=8.0, Q=[[0, -1], [1, 0]])
    for seed in range(20):
        run = pk.simulate(model, pk.sphere.uniform(2, 2, seed), 1e9)
        if verdict(run)["agrees"] is False:
            return
    pytest.fail("none of the runs disagrees")


def test_frozen_centres_capture_as_predicted():
    line = scene({"n": 200, "d": 2, "beta": 64, "frozen": "strong", "T": 1e4})["theory"]
    assert line["agrees"] is True
    assert "Theorem 5.2 applies" in line["predicted"]
    line = scene({"n": 20, "d": 3, "beta": 9, "c": 1, "frozen": "strong", "T": 10})["theory"]
    assert line["agrees"] is None
    assert "is for the circle" in line["predicted"]


def test_doubt_is_told():
    found = scene({"n": 24, "d": 2, "beta": 64, "mask": "full", "T": 1e40})
    chosen = Settings.read(found["settings"])
    with pytest.warns(pk.TrustWarning):
        run = pk.simulate(chosen.model, chosen.start, chosen.T)
    assert found["trusted_until"] == pytest.approx(run.trusted_until, rel=1e-3)
    assert scene({"n": 5, "T": 1})["trusted_until"] is None


def test_an_unknown_phase_is_told():
    turning = {"n": 5, "d": 2, "V": "1,-1;1,1"}
    assert 1e9 < scene({**turning, "T": 1e14})["phase_known_until"] < 1e10
    assert scene({"n": 5, "T": 1})["phase_known_until"] is None


def test_any_run_has_a_scene():
    model, x0 = pk.Attention(d=3, beta=9), pk.sphere.uniform(10, 3, seed=1)
    fixed = pk.sphere.uniform(2, 3, seed=2)
    run = pk.simulate(model, x0, 20.0, frozen=fixed, frozen_weights=[1.0, 3.0])
    found = build(run)
    assert found["settings"] is None
    assert found["frozen"] == run.frozen.tolist()
    assert found["frozen_weights"] == [1.0, 3.0]
    assert found["frozen_tokens"] == []
    assert found["n"] == 10
    assert found["delta"] == 4 / 3

    kept = build(pk.simulate(model, x0, 20.0, times=[1.0, 1.0, 5.0, 20.0]))
    assert kept["times"] == [1.0, 5.0, 20.0]
    many = build(pk.simulate(model, x0, 20.0, times=np.linspace(0, 20, 1001)))
    assert len(many["times"]) <= 400
    assert (many["times"][0], many["times"][-1]) == (0, 20)
    final = build(pk.simulate(model, x0, 20.0, times="final"))
    assert final["times"] == [20.0]
    assert frames(final) == pytest.approx(kept_end := frames(kept)[-1:], abs=1e-4)
    assert kept_end.shape == (1, 10, 3)


def test_too_many_tokens_for_a_page():
    model = pk.Attention(d=2)
    run = pk.simulate(model, pk.sphere.uniform(4, 2, seed=1), 1.0, times="final")
    crowd = dataclasses.replace(run, tokens=np.repeat(run.tokens, 20000, axis=1))
    with pytest.raises(pk.InputError, match="at most 65536 tokens, got 80000"):
        build(crowd)


def work(limits, **settings):
    return Work(Settings.read(settings), limits)


def test_endless_work_is_foreseen():
    with pytest.raises(FieldError, match=r"about 3e\+59 steps of 300 tokens") as caught:
        work(Limits(), n=300, mask="full", T=1e60).scene(print, lambda: False)
    assert caught.value.field == "T"
    longest = float(str(caught.value).split()[-1])
    Limits().foresee(Settings(n=300, mask="full", T=0.9 * longest))
    Limits().foresee(Settings(n=300, T=1e60))  # long, and few steps


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        (Limits(work=500), "stopped at 500 steps of single tokens, at t="),
        (Limits(memory=2**16), "stopped at 0.0625 MiB of steps, at t="),
        (Limits(seconds=0), "stopped after 0 s, at t="),
    ],
)
def test_limits_on_the_way(limits, sentence):
    with pytest.raises(TooLongError, match="choose a smaller T or n") as caught:
        work(limits, n=20, d=2, beta=64, T=1e4).scene(lambda fraction: None, lambda: False)
    assert sentence in str(caught.value)


def test_analysis_can_be_cancelled():
    chosen = work(Limits(), n=20, d=2, T=10)
    done = [False]

    def report(fraction):
        done[0] = fraction == 1

    looks = []

    def cancelled():
        # The simulation has ended and been asked about; the third look is the analysis.
        looks.append(done[0])
        return sum(looks) > 3

    with pytest.raises(CancelledError):
        chosen.scene(report, cancelled)


def test_delta_is_an_angle():
    assert scene({"n": 3, "d": 2, "beta": 0.01, "T": 1})["delta"] == math.pi
