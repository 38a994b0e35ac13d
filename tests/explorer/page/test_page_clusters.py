"""All that the page says of clusters is one count: readout, names, staircase, help, the end."""

from __future__ import annotations

import re

import numpy as np
import pytest
from support.pictures import along, svg_texts
from support.reader import download

# Goes to many times and tells the count and, beside it, what each token's label says.
_COUNTS = """times => times.map(t => {
  parkade.goTo(t);
  const { scene, view } = parkade;
  const now = scene.time(view.u) * (1 + 1e-9);
  const left = scene.merges ? scene.n - scene.merges.filter(m => m.t <= now).length : null;
  return [t, scene.clustersAt(view.u), new Set(scene.labelsAt(view.u)).size, left];
})"""


def counts(reader, times):
    """(times, 3): the count, the number of labels, and what the merges say of it, at each time."""
    rows = reader.page.evaluate(_COUNTS, list(times))
    reader.idle()
    return rows


def named(reader):
    """The names of clusters on a drawing, and the number of clusters that it tells."""
    _, data = download(reader, "svg")
    words = [text.text for text in svg_texts(data)]
    names = {word for word in words if re.fullmatch("x[₀-₉]+", word)}
    (count,) = {word for word in words if re.fullmatch(r"\d+ clusters?", word)} & {
        reader.text("clusters")
    }
    return names, int(count.split()[0])


def test_without_noise(turned):
    reader = turned("n=32&T=1000")
    scene = reader.scene()
    merges = [merge["t"] for merge in scene["merges"]]
    # Between two frames, in the middle of a merge, and while they form.
    times = [*np.geomspace(0.005, 1000, 60), *np.array(merges) * 1.001, 72.5]
    for t, count, labels, by_merges in counts(reader, times):
        assert count == labels == by_merges, t
    reader.go(72.5)
    names, count = named(reader)
    assert len(names) == count == 3
    assert reader.text("seen") == f"{scene['clusters'][-1]} cluster at t = 1000"
    assert reader.on("predicted").inner_text().startswith("V is the identity:")
    reader.press("?")
    assert "until it is within 0.0333 rad of an earlier token" in reader.text("help")
    reader.press("Escape")


def test_the_notes(turned):
    """What is written on the picture counts the same, also after the last plateau has ended."""
    reader = turned("n=64&beta=25&T=10000&heads=8&rank=2")
    assert reader.scene()["plateaus"][-1]["end"] < 9000
    assert reader.text("clusters") == "2 clusters"
    _, data = download(reader, "svg")
    words = {text.text for text in svg_texts(data)}
    assert [word for word in words if re.match("[A-Z][a-z]+ clusters?", word)] == ["Two clusters"]


def test_no_name_covers_another(turned):
    """While many clusters form, most of them with close ones."""
    reader = turned("n=64&d=2&beta=16&T=1000&show=names")
    for t in (4.5, 5.2, 6.0, 7.0):
        reader.go(t)
        _, data = download(reader, "svg")
        names = [text for text in svg_texts(data) if re.fullmatch("x[₀-₉]+", text.text or "")]
        places = [(float(text.get("x")), float(text.get("y"))) for text in names]
        assert len(set(places)) > 2
        for i, (x, y) in enumerate(places):
            for left, up in places[:i]:
                if (left, up) != (x, y):  # its own rim
                    assert abs(left - x) > 20 or abs(up - y) > 10, t


def test_on_the_circle(turned):
    reader = turned("n=200&d=2&beta=64&T=1000")
    for t, count, labels, by_merges in counts(reader, [0, 0.005, 0.05, 0.5, 5, 50, 500]):
        assert count == labels == by_merges, t


def test_with_noise(turned):
    """The count is of this moment: tokens that met once may be apart again."""
    reader = turned("n=24&noise=0.01&T=60")
    scene = reader.scene()
    assert scene["merges"] is None
    rows = counts(reader, scene["times"])
    assert [row[1] for row in rows] == scene["clusters"] == [row[2] for row in rows]
    assert np.diff(scene["clusters"]).max() > 0
    assert reader.text("clusters") == f"{scene['clusters'][-1]} clusters"
    assert reader.text("seen").startswith(reader.text("clusters"))
    # The staircase goes up and down with it, on a log scale.
    line, accent = reader.picture("timeline"), reader.color("accent")
    frame = int(np.argmin(scene["clusters"]))
    heights = {}
    for f in (0, frame):
        u = reader.get(f"parkade.scene.moments[{f}]")
        x = round(along(line.shape[1], u + 0.002))
        rows = np.nonzero(np.abs(line[:, x] - accent).max(axis=1) < 60)[0]
        heights[scene["clusters"][f]] = line.shape[0] - 26 - rows.max()
    (few, low), (many, high) = sorted(heights.items())
    rate = (line.shape[0] - 26 - 8 - 12) / (np.log(24) - np.log(0.72))
    assert high - low == pytest.approx(rate * np.log(many / few), abs=6)
    reader.press("?")
    assert "may part again, so there are no merges" in reader.text("help")
    reader.press("Escape")
