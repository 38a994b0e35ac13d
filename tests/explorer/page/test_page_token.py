"""One token: pointed at, selected, marked in every picture, and described in true words."""

from __future__ import annotations

import numpy as np
import pytest
from support.pictures import has, ringed

BELOW = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def name(k):
    """The name of token k: x₁ is the first."""
    return f"x{k + 1}".translate(BELOW)


def facts(scene, frame, k):
    """What should be said about token k, computed anew."""
    labels = scene["labels"][frame]
    size = int((labels == labels[k]).sum())
    cluster = f"in the cluster of {name(labels[k])}, with {size} tokens"
    if labels[k] == k:
        cluster = "alone" if size == 1 else f"leads a cluster of {size}"
    centers = scene["centers"]
    center = "no centre"
    if k in centers["renyi"]:
        center = "strong Rényi centre" if k in centers["strong"] else "Rényi centre"
    start, now = scene["frames"][0, k], scene["frames"][frame, k]
    drift = np.degrees(np.arctan2(np.linalg.norm(np.outer(start, now) - np.outer(now, start))
                                  / np.sqrt(2), start @ now))  # fmt: skip
    return cluster, center, drift


def weights(scene, frame):
    """The attention matrix of a frame, (n, n)."""
    x = scene["frames"][frame]
    scores = x @ np.array(scene["A"]).T @ x.T
    w = np.exp(scores - scores.max(axis=1, keepdims=True))
    if scene["mask"] == "causal":
        w = np.tril(w)
    return w / w.sum(axis=1, keepdims=True)


def percent(share):
    return "less than 0.1 %" if 0 < share < 0.001 else (
        f"{100 * share:.1f} %" if share < 0.01 else f"{int(100 * share + 0.5)} %")  # fmt: skip


@pytest.mark.parametrize("link", ["n=12&d=2&beta=16&T=100&c=2", "n=16&V=1,1,-1&c=2&T=50"])
def test_pointing(turned, link):
    reader = turned(link)
    scene = reader.scene()
    frame = len(scene["times"]) // 2
    reader.go(scene["times"][frame])
    attention = weights(scene, frame)
    places = reader.places()
    seen = set()
    for k in [k for k in range(scene["n"]) if places[k, 2] >= 0][:8]:
        apart = np.hypot(*(places[:, :2] - places[k, :2]).T)
        if (apart[:k] < 5).any() or (np.delete(apart, k) < 1).any():
            continue  # another token is there
        reader.point_at(k)
        assert reader.view["hover"] == k
        cluster, center, drift = facts(scene, frame, k)
        lines = reader.text("tip").split("\n")
        assert lines[0] == f"{name(k)} token {k + 1} of {scene['n']}"
        assert lines[1] == cluster
        assert lines[2].removesuffix(", the first token") == center
        assert lines[2].endswith(", the first token") == (k == 0)
        angle = float(lines[3].removeprefix("Drift ").removesuffix("° from its start"))
        assert angle == pytest.approx(drift, rel=6e-3, abs=1e-3)
        panel = reader.text("token-text")
        assert panel.startswith(f"{name(k)} {cluster}; {center}")
        assert f"Attends to itself by {percent(attention[k, k])}" in panel
        best = int(attention[k].argmax())
        assert (f"most to {name(best)}" in panel) == (best != k)
        assert reader.value("token") == str(k + 1)
        # It has a ring in the picture, and its row is framed in the matrix.
        ball, matrix = reader.pictures("ball", "attention")
        x, y, _ = places[k]
        accent = reader.color("accent")
        assert ringed(ball, x, y, 11, accent)
        side = min(matrix.shape[:2])
        assert has(matrix, side - 3, side * k / scene["n"], accent, 1, 60)
        seen |= {lines[1].split()[0], lines[2]}
    assert len(seen) >= 4  # leaders, followers, centres and others were among them
    reader.point()
    assert reader.view["hover"] is None
    assert reader.on("tip").is_hidden()
    assert not has(reader.picture(), x + 11, y, accent, 1, 60)


def test_frozen_tokens_are_described(turned):
    reader = turned("n=30&d=2&beta=36&T=50&frozen=strong&c=2")
    k = reader.scene()["frozen_tokens"][-1]
    reader.type("token", k + 1)
    text = reader.text("token-text")
    assert ", frozen." in text
    assert "Drift 0° from its start" in text
    assert "Attends to no token" in text


def click(reader, k):
    """Click a token, and leave it."""
    reader.point_at(k)
    reader.page.mouse.down()
    reader.page.mouse.up()
    reader.point()


def test_selecting(turned, small):
    """By a click, by its number, by keys; by a click again, no token is selected."""
    reader = turned(f"{small}&t=0")
    click(reader, 4)
    assert reader.view["token"] == 4
    assert reader.text("token-text").startswith(name(4))
    assert "token=5" in reader.link
    click(reader, 4)
    assert reader.view["token"] is None
    assert reader.text("token-text").startswith("Point at a token")
    reader.type("token", 7)
    assert reader.view["token"] == 6
    reader.on("token-clear").click()
    assert reader.view["token"] is None
    reader.press("j", "j")
    assert reader.view["token"] == 1
    reader.press("k", "k")
    assert reader.view["token"] == 11
    assert name(11) in reader.on("summary").inner_text()
    reader.press("Escape")
    assert reader.view["token"] is None
    # It stays with the next run, unless that has no such token.
    reader.type("token", 7)
    reader.type("beta", 8)
    assert reader.view["token"] == 6
    reader.type("n", 5)
    assert reader.view["token"] is None


def test_attention_matrix(turned, small):
    """Each cell is as dark as its weight; what comes later is not seen."""
    reader = turned(f"{small}&t=0")
    w = check_cells(reader)
    assert (matrix_cells(reader, 12)[np.triu_indices(12, 1)] == reader.color("panel").sum()).all()
    # Words for a cell, and the token of its row is pointed at.
    box = reader.on("attention").bounding_box()
    side = min(box["width"], box["height"])

    def point(k, j):
        reader.point(box["x"] + side * (j + 0.5) / 12, box["y"] + side * (k + 0.5) / 12)
        return reader.text("attention-text")

    assert point(7, 7) == f"{name(7)} attends to {name(7)} by {percent(w[7, 7])}."
    assert point(7, 3) == f"{name(7)} attends to {name(3)} by {percent(w[7, 3])}."
    assert reader.view["hover"] == 7
    assert point(3, 7) == f"{name(7)} comes after {name(3)}, which cannot attend to it."
    reader.page.mouse.down()
    reader.page.mouse.up()
    assert reader.view["token"] == 3
    reader.check("mask-full")
    reader.press("Escape")
    assert (check_cells(reader)[np.triu_indices(12, 1)] > 0.1).any()


def check_cells(reader):
    """The more weight, the darker; return the weights."""
    w = weights(reader.scene(), 0)
    darkness = reader.color("panel").sum() - matrix_cells(reader, 12)[w > 0]
    order = np.argsort(w[w > 0])
    assert (np.diff(darkness[order]) >= -3).all()
    assert darkness[order][-1] > 400
    return w


def matrix_cells(reader, n):
    """The sum of red, green and blue in the middle of each cell, (n, n)."""
    picture = reader.picture("attention")
    side = min(picture.shape[:2])
    middle = ((np.arange(n) + 0.5) * side / n).astype(int)
    return picture[np.ix_(middle, middle)].sum(axis=-1)


def test_attention_by_cluster(turned, small):
    """Grouped, the tokens of one cluster stand together."""
    reader = turned(small)
    scene = reader.scene()
    labels = scene["labels"][-1]
    order = np.lexsort((np.arange(12), labels))
    assert order.tolist() != list(range(12))
    before = matrix_cells(reader, 12)
    reader.click("show-group")
    after = matrix_cells(reader, 12)
    np.testing.assert_allclose(after, before[np.ix_(order, order)], atol=6)


def test_consumption(turned):
    """The shares are those of the tokens near a centre now."""
    reader = turned("n=40&d=2&beta=36&T=50&c=2")
    scene = reader.scene()
    for frame in [0, len(scene["times"]) // 3, len(scene["times"]) - 1]:
        reader.go(scene["times"][frame])
        x = scene["frames"][frame]
        angles = np.arccos(np.clip(x @ x.T, -1, 1))
        for which in ["renyi", "strong"]:
            near = (angles[:, scene["centers"][which]] < scene["consumption"]["radius"]).any(axis=1)
            assert reader.text(f"consumed-{which}") == percent(near.mean())
