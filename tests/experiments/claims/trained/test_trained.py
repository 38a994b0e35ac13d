"""Claims on trained models: verdicts, what they do without a model, and their parts."""

import numpy as np
import pytest

import parkade as pk
from parkade import plots
from parkade.experiments.claims.registry import CLAIMS
from parkade.experiments.claims.trained import ends, leaders, mlp, models, orbits, spectra
from parkade.experiments.experiment import TRAINED
from parkade.model.parts.head import Head
from parkade.trained.measures.endings import Ending
from parkade.trained.study import Iterated

OURS = [claim for claim in CLAIMS.values() if claim.paper == TRAINED]


@pytest.fixture(scope="module")
def albert():
    return pk.trained.load("ALBERT-rxn", download=True, dtype="float64")


def test_there_are_thirteen():
    assert [claim.name for claim in OURS] == [
        "spectra-negative", "spectra-real", "ends-of-trained-heads", "leaders", "mlp-holds-off",
        "iterated-clusters", "meaning-kurtosis", "meaning-causal", "meaning-causal-smol",
        "indentation-wheel", "copying", "power-method", "flow-erases",
    ]  # fmt: skip


@pytest.mark.parametrize("claim", OURS, ids=lambda claim: claim.name)
def test_without_the_model_a_claim_is_undecided_and_downloads_nothing(claim, quick, monkeypatch):
    monkeypatch.setattr(models, "missing", lambda names: ["ALBERT-rxn"])
    monkeypatch.setattr("parkade.trained.packages._download", lambda *_: pytest.fail("no"))
    evidence = claim.measure(quick)
    assert evidence.verdict == "undecided"
    assert evidence.measured == "first: parkade trained --get ALBERT-rxn"
    assert len(evidence.measured) < 60
    claim.draw(evidence, plots.new_figure())  # it says so instead of a picture


def test_models_that_are_missing_are_named(monkeypatch, albert):
    assert models.missing(["ALBERT-rxn"]) == []
    monkeypatch.setattr("parkade.trained.packages._stored", lambda entry: None)
    assert models.missing(["ALBERT-rxn", "MiniLM-L6"]) == ["ALBERT-rxn", "MiniLM-L6"]


def test_two_of_eight_heads_are_negative(albert, quick, presentable, monkeypatch):
    monkeypatch.setattr(spectra, "DRAWS", 500)
    evidence = spectra.negative([albert], quick)
    (one,) = evidence.numbers["models"].values()
    assert (one["heads"], one["negative"], one["random_negative"]) == (8, 2, 0)
    assert evidence.verdict == "agrees"
    presentable(spectra.NEGATIVE, evidence)
    presentable(spectra.REAL, spectra.real([albert], quick))


def test_a_reduced_head_moves_as_the_head_does():
    rng = np.random.default_rng(0)
    V = rng.standard_normal((20, 3)) @ rng.standard_normal((3, 20))
    head = Head(rng.standard_normal((3, 20)), rng.standard_normal((3, 20)), V, 2.0)
    start = pk.sphere.uniform(4, 20, 1)
    small, x = ends.reduced(head, start)
    assert x.shape == (4, 7)
    full = pk.simulate(pk.Transformer([head]), start, 0.5, tol=1e-10).final
    less = pk.simulate(pk.Transformer([small]), x, 0.5, tol=1e-10).final
    assert full @ full.T == pytest.approx(less @ less.T, abs=1e-8)


def test_planted_heads_end_as_the_table_says():
    rng = np.random.default_rng(2)
    basis = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    Q, K = rng.standard_normal((2, 3, 8)) / 3
    real = basis @ np.diag([1.0, 0.4, 0.2, 0, 0, 0, 0, 0]) @ basis.T
    turn = np.zeros((8, 8))
    turn[:2, :2] = [[1, -0.5], [0.5, 1]]
    for V, kind in ((real, "two points"), (basis @ turn @ basis.T, "rotation")):
        result = ends.follow(pk.Transformer([Head(Q, K, V)]), 0, 3)
        assert (result["kind"], result["outcome"]) == (kind, "as predicted")
    away = ends.follow(pk.Transformer([Head(Q, K, -real)]), 0, 3)
    assert away["outcome"] == "outside"


def test_verdicts_on_leaders():
    assert leaders.judge(0.02, 0.2, 0.01) == "agrees"
    assert leaders.judge(0.001, 0.005, 0.01) == "contradicts"
    assert leaders.judge(-0.1, 0.1, 0.01) == "undecided"


def test_the_flow_of_the_paper_has_leaders_and_without_a_mask_it_has_none():
    assert leaders.control() > 0.03
    assert abs(leaders.control("full")) < 0.01


def test_an_encoder_is_only_a_control(albert, quick, presentable, monkeypatch):
    monkeypatch.setattr(leaders, "texts_for", lambda m: models.texts_for(m, 3))
    evidence = leaders.measure([albert], quick)
    assert evidence.verdict == "undecided"
    assert "no mask" in evidence.measured
    presentable(leaders.CLAIM, evidence)


def test_without_mlps_tokens_are_closer(albert, quick, presentable, monkeypatch):
    monkeypatch.setattr(mlp, "texts_for", lambda m: models.texts_for(m, 8))
    evidence = mlp.measure([albert], quick)
    assert evidence.verdict == "agrees"
    presentable(mlp.CLAIM, evidence)


def ended(clusters, period, n=10, falling=False):
    sizes = (n - clusters + 1, *[1] * (clusters - 1))
    counts = np.array([n, n, n if falling else clusters, clusters])
    return Iterated(0, 0, n, Ending(sizes, period, 0.0, 0, counts), clusters)


def test_verdicts_on_orbits():
    judge = orbits.verdict_on
    assert judge([ended(3, 30), ended(5, None)]) == "agrees"
    assert judge([ended(3, 30), ended(9, None, falling=True)]) == "undecided"
    assert judge([ended(9, None)]) == "contradicts"
    assert judge([Iterated(0, 0, 10, None, 0)]) == "contradicts"


def test_intervals_cover_the_mean():
    rng = np.random.default_rng(4)
    drawn = 1 + rng.standard_normal((2000, 6))
    covered = [low < 1 < high for low, high in (models.interval(x, 0.1) for x in drawn)]
    # Error probability 2e-7, by the normal law.
    assert np.mean(covered) == pytest.approx(0.9, abs=5.2 * (0.09 / 2000) ** 0.5)
