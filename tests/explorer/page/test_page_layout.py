"""Nothing overlaps and nothing sticks out, from phones to large screens."""

from __future__ import annotations

import re

from support.pictures import number_of

SIZES = [
    (360, 740), (390, 844), (480, 900), (600, 800), (700, 900), (701, 390), (740, 360), (768, 1024),
    (780, 900), (800, 600), (820, 1180), (844, 390), (900, 640), (912, 1368), (999, 700),
    (1000, 640), (1000, 900), (1024, 600), (1024, 768), (1150, 700), (1151, 900), (1180, 820),
    (1250, 650), (1251, 650), (1280, 600), (1280, 639), (1280, 720), (1366, 650), (1366, 768),
    (1440, 900), (1600, 640), (1600, 760), (1920, 1080), (2560, 1080), (2560, 1440),
]  # fmt: skip

# The parts of the page that are seen, as boxes, cut by what they scroll in; and who overlaps whom.
_WRONG = """() => {
  const shown = selector => [...document.querySelectorAll(selector)]
    .filter(e => e.checkVisibility());
  const boxOf = e => {
    const box = e.getBoundingClientRect();
    let { left, top, right, bottom } = box;
    for (let at = e.parentElement; at && at !== document.body; at = at.parentElement) {
      if (getComputedStyle(at).overflowY === 'visible') continue;
      const outer = at.getBoundingClientRect();
      [left, right] = [Math.max(left, outer.left), Math.min(right, outer.right)];
      [top, bottom] = [Math.max(top, outer.top), Math.min(bottom, outer.bottom)];
    }
    return { left, top, right, bottom, name: e.id || e.className || e.tagName };
  };
  const parts = shown(
    'header > *, .tools > *, #equation, .field, .group, #story, #theory p, .canvas-box, ' +
    '#legend > *, #side h2, #side p, .play > *, footer p, #tour > *',
  ).filter(e => !e.matches('.tools') && e.getBoundingClientRect().width > 1);
  const boxes = parts.map(boxOf).map((box, i) => ({ ...box, part: parts[i] }))
    .filter(b => b.right - b.left > 1 && b.bottom - b.top > 1);
  const wrong = [];
  for (const [i, a] of boxes.entries()) {
    if (a.left < -1 || a.right > innerWidth + 1) wrong.push(`${a.name} sticks out`);
    for (const b of boxes.slice(i + 1)) {
      if (a.part.contains(b.part) || b.part.contains(a.part)) continue;
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > 1.5 && down > 1.5) wrong.push(`${a.name} over ${b.name}`);
    }
  }
  if (document.documentElement.scrollWidth > innerWidth) wrong.push('scrolls sideways');
  for (const e of shown('#about, #story, #theory p')) {
    if (e.textContent && e.clientWidth < 200) wrong.push(`${e.id} is a narrow column`);
  }
  const ball = document.getElementById('ball').getBoundingClientRect();
  if (Math.min(ball.width, ball.height) < 190) wrong.push('the picture is small');
  const desktop = innerWidth >= 1000 && innerHeight >= 640;
  if (desktop && document.documentElement.scrollHeight > innerHeight) wrong.push('scrolls down');
  return wrong;
}"""


def wrong(reader, sizes):
    """What is wrong, by the size of the window."""
    problems = {}
    for width, height in sizes:
        reader.resize(width, height)
        problems[width, height] = reader.page.evaluate(_WRONG)
    return {size: some for size, some in problems.items() if some}


def test_sizes(turned):
    """A preset with a text, and eight heads with a long formula; then the tour."""
    reader = turned("n=64&beta=25&T=10000&heads=8&rank=2")
    assert reader.text("about").startswith("Each head sees")
    assert wrong(reader, SIZES) == {}
    reader.resize(1280, 800)
    reader.select("preset", "life")
    reader.click("tour-open")
    assert wrong(reader, SIZES[::4]) == {}


# Labels whose text is wider than their box.
_CUT = """() => [...document.querySelectorAll('label, button, .key, summary, h2')].filter(e =>
  e.checkVisibility() && !e.closest('.unseen, dialog') && e.scrollWidth > e.clientWidth + 1
  && e.clientWidth > 0 && getComputedStyle(e).display !== 'inline').map(e => e.outerHTML)"""


def test_keys_of_a_phone(turned, small):
    """The mark of the first token is explained there too, and no label is cut off."""
    reader = turned(small)
    reader.resize(360, 740)
    assert reader.page.evaluate(_CUT) == []
    assert reader.page.get_by_text("first token", exact=True).is_visible()


def test_names_on_a_phone(turned):
    """None is cut off, and none lies on its own token to avoid that."""
    reader = turned("n=200&d=2&beta=64&T=30&t=25")
    reader.resize(360, 740)
    for name in ["ball", "timeline"]:
        wide = reader.on(name).bounding_box()["width"]
        assert [w for w in reader.words(name) if w["left"] < 0 or w["right"] > wide] == []
    names = [w for w in reader.words("ball") if re.fullmatch("x[₀-₉]+", w["text"])]
    assert len(names) == 8
    for name in names:
        x, y, _ = reader.places()[number_of(name["text"]) - 1]
        # The ring of a centre has a radius of 7.5.
        across = name["left"] - 8 < x < name["right"] + 8
        assert not (across and name["top"] - 8 < y < name["bottom"] + 8), name


def test_how_far_to_trust_a_run_is_never_cut(turned):
    """The end of the line at the foot of the page is seen at every size; the citation gives way."""
    reader = turned("n=16&d=2&V=1,-1;1,1&Q=1,2;0,1&T=10")  # a long reason stands before it
    assert reader.text("status").endswith("trusted to the end")
    for width, height in SIZES:
        reader.resize(width, height)
        cut = reader.get("(e => e.scrollWidth > e.clientWidth)(document.getElementById('status'))")
        assert not cut, width
