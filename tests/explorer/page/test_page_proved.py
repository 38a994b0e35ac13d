"""What is proved on the time line: drawn, switched off, said, and absent without a certificate."""

from __future__ import annotations

import numpy as np
import pytest
from support.commands import invoke

import parkade as pk

BETA = 16.0


@pytest.fixture(scope="module")
def run():
    return pk.simulate(pk.Attention(d=2, beta=BETA), pk.sphere.uniform(6, 2, seed=1), 1e20)


@pytest.fixture(scope="module")
def certificate(run):
    return pk.certify(run.tokens[0], BETA, 1e20)


def amounts(reader):
    """How many pixels of the time line are as green as the bars, and as red as the bands."""
    picture = reader.picture("timeline").astype(float)
    red, green, blue = (picture[..., i] for i in range(3))
    bars = (green > red + 40) & (green > blue + 10)
    bands = (red > green + 40) & (red > blue + 80) & (green < 200)
    return int(bars.sum()), int(bands.sum())


def test_bars_and_bands_are_where_the_certificate_says(from_disk, run, certificate):
    reader = from_disk(run.show(certificate=certificate, view="show=proved").text)
    proved = reader.get("parkade.scene.proved")
    assert [one["clusters"] for one in proved["plateaus"]] == [
        state.clusters for state in certificate.plateaus
    ]
    assert [(one["start"], one["end"]) for one in proved["events"]] == [
        (min(one.earliest for one in event), max(one.latest for one in event))
        for event in certificate.events
    ]
    assert reader.pressed("show-proved")
    merges = len(certificate.merges)
    assert f"{merges} merge" in reader.on("show-proved").get_attribute("title")
    said = " ".join(word["text"] for word in reader.words("timeline"))
    assert "proved: the counts of the bars" in said
    bars, bands = amounts(reader)
    assert min(bars, bands) > 100
    reader.press("v")
    assert amounts(reader) == (0, 0)
    assert not reader.pressed("show-proved")


def test_without_a_certificate_nothing_is_drawn(from_disk, run):
    reader = from_disk(run.show(view="show=proved").text)
    assert reader.get("parkade.scene.proved") is None
    assert reader.on("show-proved").is_hidden()
    assert amounts(reader) == (0, 0)
    assert "proved" not in " ".join(word["text"] for word in reader.words("timeline"))


def test_an_exported_page_carries_a_checked_file(from_disk, run, certificate, tmp_path):
    run.save(tmp_path / "run.npz")
    certificate.save(tmp_path / "proof.json")
    options = "--certificate", tmp_path / "proof.json", "-o", tmp_path / "page.html"
    done = invoke("export", tmp_path / "run.npz", *options)
    assert done.exit_code == 0, done.output
    reader = from_disk(tmp_path / "page.html")
    until = reader.get("parkade.scene.proved.until")
    assert until == pytest.approx(certificate.until)
    assert np.all(amounts(reader))
