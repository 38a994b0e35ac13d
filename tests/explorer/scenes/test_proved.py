"""A scene carries a certificate of its own tokens, and refuses others."""

from __future__ import annotations

import json
import re

import pytest
from support.commands import invoke

import parkade as pk
from parkade.base.errors import ParkadeError
from parkade.explorer.scenes.build import build
from parkade.explorer.scenes.proved import certificate_of


@pytest.fixture(scope="module")
def run():
    return pk.simulate(pk.Attention(d=2, beta=12.0), pk.sphere.uniform(5, 2, seed=2), 1e20)


@pytest.fixture(scope="module")
def certificate(run):
    return pk.certify(run.tokens[0], 12.0, 1e20)


def test_only_a_scene_with_a_certificate_says_what_is_proved(run, certificate):
    assert "proved" not in build(run)
    proved = build(run, certificate=certificate)["proved"]
    assert json.loads(json.dumps(proved)) == proved
    assert [one["clusters"] for one in proved["plateaus"]] == [
        state.clusters for state in certificate.plateaus
    ]
    merges = [one for event in proved["events"] for one in event["merges"]]
    assert {one["absorbed"] for one in merges} == {one.absorbed for one in certificate.merges}
    assert (proved["until"], proved["why"]) == (certificate.until, "")


def test_scenes_of_spheres_carry_certificates():
    start = pk.sphere.uniform(4, 3, seed=2)
    run = pk.simulate(pk.Attention(d=3, beta=8.0), start, 1e10)
    certificate = pk.certify(start, 8.0, 1e10)
    proved = build(run, certificate=certificate_of(run, certificate))["proved"]
    assert proved["plateaus"][-1]["clusters"] == certificate.plateaus[-1].clusters


def test_a_file_is_checked(run, certificate, tmp_path):
    path = tmp_path / "proof.json"
    certificate.save(path)
    assert certificate_of(run, path).to_dict() == certificate.to_dict()
    data = json.loads(path.read_text())
    data["merges"][-1]["latest"] *= 0.99
    path.write_text(json.dumps(data))
    with pytest.raises(ParkadeError, match="the certificate is refused"):
        run.show(certificate=path)


def test_a_certificate_of_another_run_is_refused(run, certificate):
    model = pk.Attention(d=2, beta=12.0)
    others = pk.simulate(model, pk.sphere.uniform(5, 2, seed=3), 10.0)
    sharper = pk.simulate(pk.Attention(d=2, beta=13.0), run.tokens[0], 10.0)
    late = pk.simulate(model, run.tokens[0], 10.0, times=[1.0, 10.0])
    for other, sentence in (
        (others, "about 5 other tokens than those at the start of this run; certify"),
        (sharper, "about Attention(2, beta=12), not about the model of this run; certify"),
        (late, "about 5 other tokens than those at the start"),
    ):
        with pytest.raises(pk.InputError, match=re.escape(sentence)):
            other.show(certificate=certificate)
    with pytest.raises(pk.InputError, match="certificate must be the result of certify, or a file"):
        run.show(certificate=3)


def test_the_tour_has_none(here):
    result = invoke("export", "--tour", "--certificate", "proof.json")
    assert result.exit_code == 2
    assert "omit --certificate" in result.stderr
