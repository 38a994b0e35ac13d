"""The parts of a transformer on the page: a closed group, links, weights of heads, lengths."""

from __future__ import annotations

import numpy as np
from playwright.sync_api import expect
from support.reader import download

import parkade as pk
from parkade.explorer import Settings

SMALL = "n=8&d=8&beta=4&T=20"

WEIGHTS = [
    "heads=3&rank=2",
    "heads=2&rank=3&encoding=rope",
    "norm=pre&encoding=alibi&slope=0.5",
    "mask=window&reach=3",
    "heads=2&mask=prefix&reach=4",
]


def weights_at(reader, u):
    """The attention matrix that the page computes at a moment."""
    return reader.get(
        "[...Array(8).keys()].map(k => [...parkade.scene.attentionRow("
        f"parkade.scene.tokensAt({u}), k, new Float64Array(8))])"
    )


def test_weights_are_those_of_the_library(turned):
    """With V = I the force on all tokens is WX, so that as many tokens as dimensions give W."""
    reader = turned(SMALL)
    for link in WEIGHTS:
        reader.open(f"{SMALL}&{link}&t=0")
        weights = weights_at(reader, 0)
        chosen = Settings.read(reader.settings)
        expected = chosen.model.force(chosen.start) @ np.linalg.inv(chosen.start)
        np.testing.assert_allclose(weights, expected, atol=1e-4)
        assert reader.on("attention-panel").is_visible()


def test_growing_sharpness(turned, tmp_path):
    """The formula follows, the weights are those of the moment, link and file keep it."""
    reader = turned(f"{SMALL}&growth=2")
    assert "𝛽(𝑡)=𝛽+𝑏ln(1+𝑡)" in reader.text("equation").replace("\n", "")
    assert "growth=2" in reader.link
    expect(reader.on("growth")).to_be_visible()
    scene = reader.scene()
    frame = int(np.searchsorted(scene["times"], 1.0))
    u = reader.get(f"parkade.scene.moments[{frame}]")
    weights = weights_at(reader, u)
    x, now = scene["frames"][frame], Settings.read(reader.settings).model.at(scene["times"][frame])
    assert now.beta > 5
    np.testing.assert_allclose(weights, now.force(x) @ np.linalg.inv(x), atol=1e-3)
    name, data = download(reader, "npz")
    (tmp_path / name).write_bytes(data)
    run = pk.load(tmp_path / name)
    assert isinstance(run.model, pk.Scheduled)
    assert run.model.schedule(scene["times"][frame]) == now.beta
    reader.select("preset", "growth")
    assert reader.settings["growth"] == 3
    assert reader.text("about").startswith("Attention sharpens")


def test_the_group_is_closed_until_it_is_used(opened, small):
    reader = opened(small)
    group = reader.page.locator("details.group")
    expect(reader.on("norm")).to_be_hidden()
    before = reader.on("equation").inner_text()
    group.locator("summary").click()
    reader.select("norm", "pre")
    assert reader.settings["norm"] == "pre"
    assert "&norm=pre" in reader.link
    assert "ṙ" in reader.text("equation")
    reader.press("j")
    length = np.exp(reader.get("parkade.scene.logRadii.at(-12)"))
    assert length > 2
    assert f"Length {length:.3g}" in reader.text("token-text")
    reader.select("norm", "post")
    assert "norm" not in reader.link
    assert reader.on("equation").inner_text() == before
    assert "Length" not in reader.text("token-text")
    # What does nothing is hidden.
    for name, other, value in [("rank", "heads", 2), ("gain", "mlp", 3)]:
        expect(reader.on(name)).to_be_hidden()
        reader.type(other, value)
        expect(reader.on(name)).to_be_visible()
    reader.check("encoding-alibi")
    expect(reader.on("slope")).to_be_visible()
    expect(reader.on("reach")).to_be_hidden()
    reader.check("mask-window")
    expect(reader.on("reach")).to_be_visible()
    assert reader.link.startswith(f"{small}&mask=window&heads=2&mlp=3&encoding=alibi&t=")


def test_links_and_errors_open_the_group(opened, small):
    reader = opened(f"{small}&heads=3")
    expect(reader.on("heads")).to_be_visible()
    assert reader.value("heads") == "3"
    reader.page.locator("details.group summary").click()
    reader.type("beta", 9)  # does not open it again
    expect(reader.on("heads")).to_be_hidden()
    reader.open(f"{small}&encoding=rope&frozen=renyi", wait=False)
    expect(reader.on("encoding-error")).to_contain_text("frozen tokens have no position")
    expect(reader.on("encoding-error")).to_be_visible()
    reader.forgive("status of 422")


def test_nothing_is_cut_off(turned):
    everything = "norm=peri&heads=8&mlp=9&encoding=rope&mask=window&reach=128"
    reader = turned(f"n=8&d=2&T=5&{everything}")
    for width in (1280, 1000, 390):
        reader.resize(width, 800)
        for name in ("equation", "settings"):
            wide, room = reader.get(
                f"(e => [e.scrollWidth, e.clientWidth])(document.getElementById('{name}'))"
            )
            assert wide <= room, (name, width)
