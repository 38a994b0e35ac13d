"""Files to take away open elsewhere, and are of this run."""

from __future__ import annotations

import base64
import io
import re
import struct
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from PIL import Image, ImageSequence
from playwright.sync_api import expect
from support.pictures import has, pixels, svg_texts
from support.reader import download

import parkade as pk
from parkade.explorer.settings.settings import Settings

SVG = "{http://www.w3.org/2000/svg}"


def on_figure(tokens):
    """Where tokens of the circle are on a figure of 960 × 1080: in a box 760 high at its top."""
    return 0.385 * 760 * tokens * [1, -1] + [480, 450]


def test_png(turned, small):
    """Twice the size of a figure, with the tokens in their colours."""
    reader = turned(f"{small}&color=position&show=&t=0")
    name, data = download(reader, "png")
    assert name == "parkade-n12-d2-beta16-T100-seed1.png"
    picture = pixels(data)
    assert picture.shape == (2160, 1920, 3)
    places = 2 * on_figure(reader.scene()["frames"][0])
    for k, color in [(11, [173, 220, 48]), (0, reader.color("ink"))]:
        assert has(picture, *places[k], np.array(color), 2, 20)
    assert len(np.unique(picture[::4, ::4] @ [1, 256, 65536])) > 100


def test_svg(turned, small):
    """Real vectors: a disc for each token where it is, and words as words."""
    reader = turned(f"{small}&color=position&show=&t=0")
    name, data = download(reader, "svg")
    assert name == "parkade-n12-d2-beta16-T100-seed1.svg"
    root = ET.fromstring(data)
    assert root.tag == f"{SVG}svg"
    assert (root.get("width"), root.get("height")) == ("960", "1080")
    marks = []
    for path in root.iter(f"{SVG}path"):
        # A disc of the size of a token: M x+r y A r r 0 1 1 x-r y …
        match = re.match(r"M([\d.]+) ([\d.]+)A([\d.]+) \3 0 1 1 ", path.get("d"))
        if match and 4 < float(match[3]) < 4.7 and path.get("fill") != "none":
            x, y, r = map(float, match.groups())
            marks.append((x - r, y))
    wanted = on_figure(reader.scene()["frames"][0])
    apart = np.hypot(*(np.array(marks)[:, None] - wanted).transpose(2, 0, 1))
    assert len(marks) == 12
    assert apart.min(axis=0).max() < 0.1
    words = [text.text for text in svg_texts(data)]
    assert "t = 0" in words
    assert any("n = 12, d = 2, β = 16, causal attention, seed 1" in word for word in words)
    assert b"<script" not in data


def test_npz(turned, tmp_path):
    """`pk.load` gives the run that `pk.simulate` makes."""
    reader = turned("n=12&d=3&beta=4&V=1,1,-1&mask=full&seed=5&T=30")
    name, data = download(reader, "npz")
    assert name == "parkade-full-n12-d3-beta4-T30-seed5.npz"
    file = tmp_path / name
    file.write_bytes(data)
    run = pk.load(file)
    asked = Settings(n=12, d=3, beta=4, V="1,1,-1", mask="full", seed=5, T=30)
    again = pk.simulate(asked.model, asked.start, 30.0)
    np.testing.assert_allclose(run.at(30.0), again.at(30.0), atol=1e-9)
    np.testing.assert_allclose(run.at(0.0), asked.start, atol=1e-15)
    scene = reader.scene()
    np.testing.assert_allclose(scene["frames"], run.at(scene["times"]), atol=1e-6)
    assert "saved" in reader.text("toast")


# Plays a film in the page and tells its length, where one gets to, its size, and its last picture.
_FILM = """async data => {
  const bytes = Uint8Array.from(atob(data), c => c.charCodeAt(0));
  const video = document.createElement('video');
  video.muted = true;
  const next = kind => new Promise((yes, no) => {
    video.addEventListener(kind, yes, { once: true });
    video.addEventListener('error', () => no(new Error('no film')), { once: true });
  });
  const loaded = next('loadeddata');
  video.src = URL.createObjectURL(new Blob([bytes], { type: 'video/webm' }));
  await loaded;
  const length = video.duration;
  const seek = async time => {
    const sought = next('seeked');
    video.currentTime = time;
    await sought;
    return video.currentTime;
  };
  const middle = Number.isFinite(length) ? await seek(length / 2) : null;
  const end = await seek(1e6);
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [video.videoWidth, video.videoHeight];
  const pen = canvas.getContext('2d');
  for (let tries = 0; tries < 100; tries += 1) {  // a busy machine shows black before the picture
    pen.drawImage(video, 0, 0);
    if (pen.getImageData(5, 5, 1, 1).data.slice(0, 3).some(value => value > 0)) break;
    await new Promise(yes => { setTimeout(yes, 50); });
  }
  const picture = canvas.toDataURL().split(',')[1];
  return { length, middle, end, width: canvas.width, height: canvas.height, picture };
}"""


# Waits three times as long as it should, as a busy machine does: then a film has fewer pictures.
_LATE = """() => {
  const { setTimeout } = window;
  window.setTimeout = (call, wait, ...rest) => setTimeout(call, 3 * wait, ...rest);
  window.inTime = () => { window.setTimeout = setTimeout; };
}"""


def test_webm(turned, small):
    reader = turned(f"{small}&color=position&show=")
    reader.on("speed").select_option("4")
    reader.page.evaluate(_LATE)
    name, data = download(reader, "video")
    reader.get("inTime()")
    reader.on("speed").select_option("1")
    assert name == "parkade-n12-d2-beta16-T100-seed1.webm"
    assert data[:4] == b"\x1a\x45\xdf\xa3"
    film = reader.page.evaluate(_FILM, base64.b64encode(data).decode())
    assert (film["width"], film["height"]) == (960, 1080)
    # The file knows its length, a quarter of fifteen and a rest, and one can go to any time of it.
    assert film["length"] > 3
    assert film["middle"] == pytest.approx(film["length"] / 2, abs=0.1)
    assert film["end"] == pytest.approx(film["length"], abs=0.1)
    picture = pixels(base64.b64decode(film["picture"]))
    x, y = on_figure(reader.scene()["frames"][-1, 0])
    assert has(picture, x, y, reader.color("ink"), 2, 60)
    assert has(picture, 5, 5, reader.color("paper"), 2, 12)
    assert reader.on("recording").is_hidden()


def test_gif(turned, small):
    reader = turned(small)
    reader.on("speed").select_option("4")
    name, data = download(reader, "gif")
    reader.on("speed").select_option("1")
    assert name == "parkade-n12-d2-beta16-T100-seed1.gif"
    first, last, delays = gif_frames(data)
    assert 40 < len(delays) < 60  # 12.5 a second for a quarter of fifteen
    assert set(delays[:-1]) == {8}
    assert delays[-1] == 120
    assert first.shape == (540, 480, 3)
    assert np.abs(first[3, 3] - reader.color("paper")).max() <= 8
    assert len(np.unique(last @ [1, 256, 65536])) > 50
    assert (np.abs(first - last).max(axis=-1) > 60).mean() > 0.003


def gif_frames(data):
    """The first and the last picture of an animated GIF, and how long each of all stays."""
    assert data[:6] == b"GIF89a"
    assert struct.unpack("<HH", data[6:10]) == (480, 540)
    with Image.open(io.BytesIO(data)) as film:
        first = np.asarray(film.convert("RGB")).astype(int)
        delays = [frame.info["duration"] // 10 for frame in ImageSequence.Iterator(film)]
        return first, np.asarray(film.convert("RGB")).astype(int), delays


def test_a_film_can_be_stopped(turned, small):
    reader = turned(small)
    saved = []
    reader.page.on("download", lambda file: saved.append(file))
    reader.open_menu()
    reader.on("download-video").click()
    expect(reader.on("recording")).to_be_visible()
    # A new run does not hide it: it goes on, and can be stopped still.
    reader.type("seed", 2)
    assert reader.get("parkade.scene.settings.seed") == 2
    assert reader.on("progress").is_hidden()
    progress = "Number(document.getElementById('recording-bar').getAttribute('aria-valuenow'))"
    share = reader.get(progress)
    reader.wait(f"{progress} > {share}")
    reader.on("recording-cancel").click()
    expect(reader.on("recording")).to_be_hidden()
    assert saved == []
    assert reader.state == "ready"
