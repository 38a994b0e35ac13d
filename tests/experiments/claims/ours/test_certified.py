import math
from dataclasses import replace

import numpy as np
import pytest
from support.experiments import measured

import parkade as pk
from parkade.experiments.claims.common import promises, proof_numbers, proofs
from parkade.experiments.claims.ours import certified
from parkade.experiments.experiment import Setup

evidence = measured(certified, FEW={8: 1})


def test_lives_are_proved(evidence, presentable):
    assert evidence.verdict == "agrees"
    numbers = evidence.numbers
    assert numbers["starts"] == numbers["to_the_end"] == 4
    assert numbers["merges"]["proved"] >= 8
    assert numbers["merges"]["partners_as_simulated"] == numbers["merges"]["proved"]
    for some in numbers["lemma_5.1"].values():
        assert some["all"]["centers"] == some["all"]["longer_proved"] > 0
        every = [one["centers"] for name, one in some.items() if name != "all"]
        assert sum(every) == some["all"]["centers"]
    assert len(presentable(certified.CLAIM, evidence).axes) == 2
    assert len(evidence.tables[0].rows) == 1 + sum(
        some["all"]["centers"] for some in numbers["lemma_5.1"].values()
    )


def test_runs_of_a_slightly_different_model_refute_it(verdict, distort):
    """With β larger by a thousandth merges are simulated outside of their bounds."""
    true = proofs.simulate

    def wrong(model, *args, **options):
        return true(pk.Attention(2, 1.001 * model.sharpness), *args, **options)

    assert verdict(certified, FEW={6: 1}, BETAS=(16.0,)) == "agrees"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proofs, "simulate", wrong)
        assert verdict(certified, FEW={6: 1}, BETAS=(16.0,)) == "contradicts"


def test_claims_beyond_the_proof_refute_it(verdict, monkeypatch):
    """The independent check refuses bounds that are closer than proved."""
    true = proofs.certify

    def bold(*args):
        certificate = true(*args)
        certificate.data["merges"][-1]["latest"] *= 0.99
        return certificate

    monkeypatch.setattr(proofs, "certify", bold)
    assert verdict(certified, FEW={6: 1}, BETAS=(16.0,)) == "contradicts"


def test_bars(evidence):
    row = evidence.data["rows"][0]
    early = row | {"until": 1e20, "why": "token 3 may turn around"}

    def judged(whole, total):
        return certified.judge([row] * whole + [early] * (total - whole))

    assert judged(90, 100) == "agrees"
    assert judged(85, 100) == "undecided"
    assert judged(70, 100) == "contradicts"
    assert certified.judge([row] * 99 + [row | {"outside": ["token 1 leads"]}]) == "contradicts"
    assert certified.judge([row] * 99 + [row | {"refused": "no proof"}]) == "contradicts"
    with_one = proof_numbers.summary([row, early])
    assert with_one["to_the_end"] == 1
    assert with_one["not_to_the_end"][0]["why"] == "token 3 may turn around"


def test_errors_are_bounded_from_below():
    assert proof_numbers.error(2.0, 1.0, 3.0) == 0
    assert proof_numbers.error(6.0, 1.0, 3.0) == pytest.approx(math.log(2))
    assert proof_numbers.error(0.5, 1.0, 3.0) == pytest.approx(math.log(2))


# --- one start ------------------------------------------------------------------------------

START = proofs.Start(6, 16.0, 0, 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the two files of a start."""
    folder = tmp_path_factory.mktemp("certificates")
    proofs.examine(START, folder)
    return folder


@pytest.fixture
def copied(folder, tmp_path):
    """The same files in another folder, and their paths."""
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return [tmp_path / f"{START.name}{end}.json" for end in ("", "-measured")]


def never(*args, **options):
    raise AssertionError("this was done before")


def test_a_start_with_both_files_is_done(folder, monkeypatch):
    for name in ("certify", "measured"):
        monkeypatch.setattr(proofs, name, never)
    row = proofs.examine(START, folder)
    assert (row["n"], row["beta"], row["why"]) == (6, 16.0, "")
    assert len(list(folder.iterdir())) == 2


def test_a_certificate_is_checked_again_but_not_proved(folder, copied, monkeypatch):
    monkeypatch.setattr(proofs, "certify", never)
    copied[1].unlink()
    again = proofs.examine(START, copied[0].parent)
    before = proofs.examine(START, folder)
    assert {k: v for k, v in again.items() if k != "seconds"} == {
        k: v for k, v in before.items() if k != "seconds"
    }


def test_a_certificate_that_is_refused_is_proved_again(copied):
    """What was measured counts only for the certificate that it was measured of."""
    text = copied[0].read_text()
    copied[0].write_text(text.replace('"absorbed": 1', '"absorbed": 2'))
    assert copied[0].read_text() != text
    refused = proofs.measured(START, proofs.read(copied[0]))
    assert "not what is proved" in refused["refused"]
    row = proofs.examine(START, copied[0].parent)
    assert row["refused"] == ""
    assert [one["absorbed"] for one in row["merges"]].count(1) == 1
    assert '"absorbed": 1' in copied[0].read_text()


def test_files_that_are_wrong_get_a_sentence(copied):
    other = proofs.Start(6, 16.0, 1, 0)
    copied[0].rename(copied[0].with_name(f"{other.name}.json"))
    with pytest.raises(pk.InputError, match=r"n6-beta16-01-seed0 is of another start; delete it"):
        proofs.examine(other, copied[0].parent)
    copied[0].with_name(f"{other.name}.json").rename(copied[0])
    copied[1].write_bytes(copied[1].read_bytes()[:-20])
    with pytest.raises(pk.InputError, match=r"truncated or damaged .*delete it to measure again"):
        proofs.examine(START, copied[0].parent)


def test_tokens_stay_as_long_as_proved(folder):
    """By a run at the time proved; and then not much longer."""
    row, x0 = proofs.examine(START, folder), START.tokens()
    run = pk.simulate(pk.Attention(2, START.beta), x0, 1e60, tol=1e-9)
    stay = pk.theory.strong_center_guarantee(x0, START.beta, promises.USUAL)
    usual = row["promises"]["usual"]
    assert [k for k, *_ in usual] == np.flatnonzero(np.isfinite(stay.time)).tolist()
    for k, radius, promised, proved in usual:
        assert (radius, promised) == (stay.radius[k], math.log(stay.time[k]))
        until = math.exp(proved)

        def moved(t, k=k):
            return pk.sphere.distance(run.at(min(t, 1e60))[k], x0[k])

        assert moved(until) <= radius
        assert until > 1e59 or moved(1.5 * until + 1) > radius
    best = {k: promised for k, _, promised, _ in row["promises"]["best"]}
    assert all(best[k] >= promised for k, _, promised, _ in usual)


def test_theorem_52_has_a_smallest_separation():
    says = promises.theorem_52(60, 64.0)
    c, separation = says["c"], says["separation"]
    holds = [
        pk.theory.capture_window(N=60, c=c * factor, eps=promises.USUAL, beta=64.0).holds
        for factor in (1.0, 0.999)
    ]
    assert holds == [True, False]
    assert (separation, says["radius"]) == (c / 8, 0.0125)
    x = pk.sphere.from_angles([0.0, 3.0, separation * 0.99, -separation * 1.01])
    assert promises.apart(x, [0, 1, 3], separation)
    assert not promises.apart(x, [0, 2, 3], separation)
    assert promises.theorem_52(60, 1.0)["separation"] is None  # for no c


def test_runs_are_compared_at_both_bounds():
    x0 = START.tokens()
    certificate = pk.certify(x0, START.beta)
    run = pk.simulate(pk.Attention(2, START.beta), x0, 1e60, tol=1e-8)
    assert proofs.contradictions(certificate, run, 1e-6) == []
    merges = certificate.merges
    for i, one in enumerate(merges):
        for change in ({"earliest": one.latest * 1.01}, {"latest": one.earliest * 0.99}):
            wrong = (*merges[:i], replace(one, **change), *merges[i + 1 :])
            claims = replace(certificate, merges=wrong)
            (sentence,) = proofs.contradictions(claims, run, 1e-6)
            assert sentence.startswith(f"token {one.absorbed} ")


# --- a campaign -----------------------------------------------------------------------------


def test_a_campaign_goes_on_where_it_was_interrupted(tmp_path, monkeypatch):
    """The first is cancelled when a start is done; the second does the rest, on processes."""
    monkeypatch.setattr(certified, "MANY", {5: 2})
    monkeypatch.setattr(certified, "BETAS", (16.0, 32.0))

    def cancel(fraction):
        if fraction > 0:
            raise pk.ParkadeError("cancelled")

    def setup(report):
        return Setup(quick=False, seed=0, report=report, folder=tmp_path)

    with pytest.raises(pk.ParkadeError, match="cancelled"):
        certified.examine(setup(cancel))
    folder = tmp_path / "certificates"
    first = {path: path.read_bytes() for path in folder.glob("*-measured.json")}
    assert first
    rows = certified.examine(setup(lambda fraction: None))
    assert [(row["beta"], row["index"]) for row in rows] == [
        (16.0, 0), (32.0, 0), (16.0, 1), (32.0, 1),
    ]  # fmt: skip
    assert len(list(folder.iterdir())) == 8
    assert {path: path.read_bytes() for path in first} == first


def test_without_flint_it_is_undecided(quick, monkeypatch):
    def missing():
        raise pk.ParkadeError("proofs need the library python-flint: pip install 'parkade[proof]'")

    monkeypatch.setattr(certified, "flint", missing)
    nothing = certified.measure(quick)
    assert (nothing.verdict, nothing.false_alarm) == ("undecided", 0.0)
    assert "python-flint" in nothing.measured
