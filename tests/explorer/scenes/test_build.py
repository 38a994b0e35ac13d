"""Scenes against the library they are made with."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest
from support.explorer import MODEL_ONLY, frames, labels

import parkade as pk
from parkade.explorer import Settings, scene
from parkade.explorer.scenes.build import build

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
    chosen, _, data = shown
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert data["format"] == "parkade scene 1"
    assert data["settings"] == chosen.to_dict()


def test_frames_are_the_run(shown):
    chosen, run, data = shown
    times = np.array(data["times"])
    assert times[0] == 0
    assert times[-1] == chosen.T
    assert (np.diff(times) > 0).all()
    assert 40 <= len(times) <= 400
    assert np.abs(frames(data) - run.at(times)).max() < 1e-6


def test_labels_and_clusters_are_those_of_the_library(shown):
    chosen, run, data = shown
    assert data["radius"] == pk.clusters.default_radius(chosen.model)
    tree = run.merge_tree()
    assert np.array_equal(data["clusters"], tree.count(data["times"]))
    for t, x, row in zip(data["times"], run.at(data["times"]), labels(data), strict=True):
        leaders = tree.leaders(t).tolist()
        assert sorted(set(row.tolist())) == leaders
        for k, leader in enumerate(row):
            before = [j for j in leaders if j <= k]
            nearest = before[np.argmax(x[before] @ x[k])]
            assert leader == (k if k in leaders else nearest)
    assert [(m["absorbed"], m["into"], m["size"]) for m in data["merges"]] == [
        (e.absorbed, e.into, e.size) for e in tree.events
    ]
    assert [m["t"] for m in data["merges"]] == pytest.approx(
        [e.time for e in tree.events], rel=5e-3
    )
    assert [p["clusters"] for p in data["plateaus"]] == [p.clusters for p in tree.plateaus]
    for mine, theirs in zip(data["plateaus"], tree.plateaus, strict=True):
        assert mine["start"] == pytest.approx(theirs.start, rel=5e-3)
        assert mine["end"] == pytest.approx(theirs.end, rel=5e-3)
        assert mine["lifetime"] == pytest.approx(mine["end"] - mine["start"])


def test_with_noise_clusters_are_those_of_the_moment():
    """A merge tree would count tokens that met once as one for good."""
    data = scene({"n": 20, "d": 2, "beta": 16, "noise": 0.01, "T": 50})
    x = frames(data).astype(float)
    x /= np.linalg.norm(x, axis=2, keepdims=True)
    expected = [pk.cluster_labels(one, data["radius"]) for one in x]
    assert np.array_equal(labels(data), expected)
    counts = [len(set(row.tolist())) for row in expected]
    assert data["clusters"] == counts
    assert (np.diff(counts) > 0).any()
    assert data["merges"] is data["plateaus"] is data["forecast"] is None
    assert data["theory"]["seen"].startswith(f"{counts[-1]} clusters at")


def test_centres_and_consumption_are_those_of_the_library(shown):
    chosen, run, data = shown
    assert data["delta"] == data["centers"]["delta"] == chosen.delta
    radius = data["consumption"]["radius"]
    for kind, find in [("renyi", pk.renyi_centers), ("strong", pk.strong_renyi_centers)]:
        who = find(chosen.start, chosen.delta)
        assert data["centers"][kind] == who.tolist()
        share = pk.consumption(run, who, radius, data["times"])
        assert data["consumption"][kind] == share.tolist()


def test_the_model_is_there(shown):
    chosen, run, data = shown
    x, model = chosen.start, chosen.model
    assert (data["n"], data["d"], data["beta"]) == (chosen.n, chosen.d, chosen.beta)
    assert data["mask"] == chosen.mask
    # The page's own attention matrix gives the model's velocity.
    scores = x @ np.array(data["A"]).T @ x.T
    if chosen.mask == "causal":
        scores[np.triu_indices(chosen.n, 1)] = -np.inf
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    pull = weights / weights.sum(axis=1, keepdims=True) @ x @ np.array(data["V"]).T
    velocity = pull - (pull * x).sum(axis=1, keepdims=True) * x
    assert velocity == pytest.approx(model.velocity(x), abs=1e-12)
    stats = dataclasses.asdict(run.stats)
    for name in ("method", "reason", "engine", "steps"):
        assert data["stats"][name] == stats[name]


def test_axes_are_the_principal_ones(shown):
    _, _, data = shown
    if data["d"] <= 3:
        assert data["axes"] is None
        return
    points = frames(data).reshape(-1, data["d"]).astype(float)
    axes = np.array(data["axes"]["directions"])
    assert axes @ axes.T == pytest.approx(np.eye(3), abs=1e-12)
    variance = np.linalg.eigvalsh(np.cov(points.T))[::-1]
    assert data["axes"]["variance"] == pytest.approx(variance[:3] / variance.sum(), rel=1e-4)
    assert np.var(points @ axes.T, axis=0) == pytest.approx(variance[:3], rel=1e-3)


def test_frozen_tokens_are_put_back():
    chosen = Settings(n=60, d=2, beta=64, frozen="renyi", T=1e4)
    data = scene(chosen)
    held = chosen.held
    x = frames(data)
    assert data["n"] == 60
    assert data["frozen_tokens"] == held.tolist() == data["centers"]["renyi"]
    assert np.array(data["frozen"]) == pytest.approx(chosen.start[held], abs=1e-15)
    assert data["frozen_weights"] == [1.0] * len(held)
    assert np.array_equal(x[:, held], np.repeat(x[:1, held], len(x), axis=0))
    free = np.setdiff1d(np.arange(60), held)
    run = pk.simulate(chosen.model, chosen.start[free], 1e4, frozen=chosen.start[held])
    assert np.abs(x[:, free] - run.at(data["times"])).max() < 1e-6
    radius = pk.clusters.default_radius(chosen.model)
    assert np.array_equal(labels(data)[-1], pk.cluster_labels(x[-1] / np.linalg.norm(
        x[-1].astype(float), axis=1, keepdims=True), radius))  # fmt: skip
    assert data["clusters"][-1] == len(held) == len(set(labels(data)[-1].tolist()))
    assert data["theory"]["kind"] == "frozen"


def test_a_scene_says_until_when_it_is_trusted():
    data = scene({"n": 24, "d": 2, "beta": 64, "mask": "full", "T": 1e40})
    chosen = Settings.read(data["settings"])
    with pytest.warns(pk.TrustWarning):
        run = pk.simulate(chosen.model, chosen.start, chosen.T)
    assert data["trusted_until"] == pytest.approx(run.trusted_until, rel=1e-3)
    assert scene({"n": 5, "T": 1})["trusted_until"] is None


def test_a_scene_says_until_when_the_phase_is_known():
    turning = {"n": 5, "d": 2, "V": "1,-1;1,1"}
    assert 1e9 < scene({**turning, "T": 1e14})["phase_known_until"] < 1e10
    assert scene({"n": 5, "T": 1})["phase_known_until"] is None


def test_any_run_has_a_scene():
    model, x0 = pk.Attention(d=3, beta=9), pk.sphere.uniform(10, 3, seed=1)
    fixed = pk.sphere.uniform(2, 3, seed=2)
    run = pk.simulate(model, x0, 20.0, frozen=fixed, frozen_weights=[1.0, 3.0])
    data = build(run)
    assert data["settings"] is None
    assert data["frozen"] == run.frozen.tolist()
    assert data["frozen_weights"] == [1.0, 3.0]
    assert data["frozen_tokens"] == []
    assert data["n"] == 10
    assert data["delta"] == 4 / 3

    timed = build(pk.simulate(model, x0, 20.0, times=[1.0, 1.0, 5.0, 20.0]))
    assert timed["times"] == [1.0, 5.0, 20.0]
    many = build(pk.simulate(model, x0, 20.0, times=np.linspace(0, 20, 1001)))
    assert len(many["times"]) <= 400
    assert (many["times"][0], many["times"][-1]) == (0, 20)
    final = build(pk.simulate(model, x0, 20.0, times="final"))
    assert final["times"] == [20.0]
    assert frames(final) == pytest.approx(kept_end := frames(timed)[-1:], abs=1e-4)
    assert kept_end.shape == (1, 10, 3)


def test_a_path_without_a_model(monkeypatch):
    """What needs a model is None; the tokens, clusters and merges are there."""
    run = pk.simulate(pk.Attention(d=3), pk.sphere.uniform(10, 3, seed=1), 1e3)
    tree = run.merge_tree(radius=0.1)
    monkeypatch.setattr("parkade.explorer.scenes.groups.merge_tree", lambda *_, **__: tree)
    data = build(dataclasses.replace(run, model=None))
    known = build(run)
    assert set(data) == set(known)
    missing = {name for name in data if data[name] is None and known[name] is not None}
    assert missing == set(MODEL_ONLY) - {"stats", "settings"}
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert data["label"] == "path of 10 tokens, d = 3"
    assert data["frames"] == known["frames"]
    assert [sorted(set(row.tolist())) for row in labels(data)] == [
        tree.leaders(t).tolist() for t in data["times"]
    ]


def test_too_many_tokens_for_a_page():
    model = pk.Attention(d=2)
    run = pk.simulate(model, pk.sphere.uniform(4, 2, seed=1), 1.0, times="final")
    crowd = dataclasses.replace(run, tokens=np.repeat(run.tokens, 20000, axis=1))
    with pytest.raises(pk.InputError, match="at most 65536 tokens, got 80000"):
        build(crowd)


def test_delta_is_an_angle():
    assert scene({"n": 3, "d": 2, "beta": 0.01, "T": 1})["delta"] == math.pi
