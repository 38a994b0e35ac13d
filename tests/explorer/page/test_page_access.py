"""For everybody: by keyboard, by screen reader, on a phone, in the dark, without motion."""

from __future__ import annotations

from playwright.sync_api import expect
from support.reader import PHONE, SLOW_SCREEN

FOCUSABLE = "a[href], button, input, select, summary, [tabindex='0']"

ROLES = {"button", "slider", "textbox", "spinbutton", "combobox", "radio", "image", "link",
         "application", "DisclosureTriangle", "region", "radiogroup", "progressbar"}  # fmt: skip

_REACH = """selector => {
  const groups = new Set();
  const names = [];
  for (const e of document.querySelectorAll(selector)) {
    if (e.disabled || !e.checkVisibility({ visibilityProperty: true })) continue;
    if (e.type === 'radio') {  // a group is one stop
      if (groups.has(e.name)) continue;
      groups.add(e.name);
      names.push(e.name);
    } else names.push(e.id || e.tagName.toLowerCase());
  }
  return names;
}"""

_FOCUS = """() => {
  const e = document.activeElement;
  if (!e || e === document.body) return null;
  const box = e.type === 'radio' ? e.closest('label') : e;
  const style = getComputedStyle(box);
  const b = box.getBoundingClientRect();
  return {
    name: e.type === 'radio' ? e.name : e.id || e.tagName.toLowerCase(),
    outline: style.outlineStyle === 'none' ? 0 : parseFloat(style.outlineWidth),
    color: style.outlineColor,
    seen: b.bottom > 0 && b.top < innerHeight && b.right > 0 && b.left < innerWidth,
  };
}"""

# Every piece of text that is seen, with its colours; ancestors' grounds are laid over each other.
_TEXTS = """() => {
  const parse = (text) => [...text.match(/[\\d.]+/g).map(Number), 1].slice(0, 4);
  const over = ([r, g, b, a], under) => [r, g, b].map((c, i) => a * c + (1 - a) * under[i]);
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const texts = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const e = node.parentElement;
    if (!node.textContent.trim() || e.closest('script, .unseen, :disabled, option')) continue;
    if (!e.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    const chain = [];
    for (let at = e; at; at = at.parentElement) chain.unshift(at);
    let ground = [255, 255, 255];
    for (const at of chain) ground = over(parse(getComputedStyle(at).backgroundColor), ground);
    const ink = over(parse(getComputedStyle(e).color), ground);
    texts.push({ text: node.textContent.trim().slice(0, 30), ink, ground });
  }
  return texts;
}"""


def contrast(one, other):
    """The ratio of two colours' luminances, as WCAG defines it."""

    def luminance(color):
        parts = [c / 255 for c in color]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def pale(texts):
    """The texts that can hardly be read."""
    return [t for t in texts if contrast(t["ink"], t["ground"]) < 4.5]


def test_contrast(opened, small):
    """All text is readable, in the theme of the system and in the other one.

    Errors, menus, help and tips too.
    """
    reader = opened(f"{small}&V=1,0.5&token=2", color_scheme="dark")
    reader.type("beta", -1)
    reader.forgive("status of 422")
    reader.on("link").click()
    reader.open_menu()
    reader.get("{ document.getElementById('help').show(); }")
    for theme in ["dark", "light"]:
        assert reader.theme == theme
        reader.get("{ document.getElementById('help').close(); }")
        reader.point_at(0)
        assert reader.on("tip").is_visible()
        reader.get("{ document.getElementById('help').show(); }")
        texts = reader.page.evaluate(_TEXTS)
        assert len(texts) > 100
        assert not pale(texts)
        reader.get("{ document.getElementById('theme').click(); }")


def test_phone(opened):
    """Nothing sticks out to the side, the picture comes first, all pictures are there."""
    reader = opened("n=16&d=3&V=1,0.5,-1;0,1,0;0,0,1&T=50", **PHONE)
    width = reader.get("document.documentElement.scrollWidth")
    assert width <= reader.get("innerWidth") <= 360
    sticking = reader.get(
        "[...document.querySelectorAll('body *')].filter(e => e.checkVisibility() && "
        "!e.closest('.unseen, .skip, dialog') && e.getBoundingClientRect().right > innerWidth + 1)"
        ".map(e => e.id || e.className || e.tagName)"
    )
    assert sticking == []
    top = {name: reader.on(name).bounding_box()["y"] for name in ["ball", "play", "n", "attention"]}
    assert top["ball"] < top["play"] < top["n"] < top["attention"]
    assert top["play"] < 740
    for name in ["ball", "timeline", "attention", "consumption"]:
        box = reader.on(name).bounding_box()
        assert box["width"] > 300
        assert box["height"] > 80
    for _ in ["light", "dark"]:
        assert not pale(reader.page.evaluate(_TEXTS))
        reader.on("theme").tap()
    # The menu stays on the screen.
    reader.on("downloads").locator("summary").tap()
    menu = reader.page.locator(".menu").bounding_box()
    assert menu["x"] >= 0
    assert menu["x"] + menu["width"] <= 360
    reader.on("downloads").locator("summary").tap()
    reader.on("mask-full").locator("..").tap()
    reader.idle()
    assert reader.get("parkade.scene.mask") == "full"


def test_desktop(turned, small):
    """No scrolling of the page, and everything inside it."""
    reader = turned(small)
    for size in [(1280, 800), (1024, 768), (1920, 1080)]:
        reader.resize(*size)
        assert reader.get("document.documentElement.scrollWidth") <= size[0]
        assert reader.get("document.documentElement.scrollHeight") <= size[1]
        for name in ["ball", "timeline", "attention", "consumption", "status"]:
            box = reader.on(name).bounding_box()
            assert 0 <= box["x"] <= box["x"] + box["width"] <= size[0]
            assert 0 <= box["y"] <= box["y"] + box["height"] <= size[1]
        assert min(reader.on("ball").bounding_box()[side] for side in ("width", "height")) > 300


def test_tab_reaches_everything(opened, small):
    """In the order of the page, with the focus seen at every stop."""
    reader = opened(f"{small}&V=1,0.5&token=2")
    wanted = reader.page.evaluate(_REACH, FOCUSABLE)
    accent = "rgb(0, 114, 178)"
    reached = []
    for _ in range(len(wanted) + 5):
        reader.page.keyboard.press("Tab")
        stop = reader.page.evaluate(_FOCUS)
        if stop is None:
            break
        assert stop["seen"], stop
        assert stop["name"] == "skip" or (stop["outline"] >= 2 and stop["color"] == accent), stop
        reached.append(stop["name"])
    assert reached == wanted
    assert {"n", "n-slider", "V-0", "mask", "frozen", "ball", "timeline", "play"} <= set(reached)


def test_by_keyboard_only(opened, small):
    """Choose a preset, a control, a toggle, a time and a download without a mouse."""
    reader = opened(small)
    reader.page.keyboard.press("Tab")
    reader.press("Enter")  # skip to the picture
    assert reader.get("document.activeElement.id") == "ball"
    assert "#ball" not in reader.page.url
    before = reader.places()
    reader.press("ArrowRight")
    assert abs(reader.places() - before).max() > 5
    reader.on("mask-causal").focus()
    reader.press("ArrowRight")
    assert reader.get("parkade.scene.mask") == "full"
    reader.on("show-trails").focus()
    reader.press("Enter")
    assert reader.view["trails"] is False
    reader.press(" ")  # presses the button, does not play
    assert reader.view["trails"] is True
    assert not reader.get("parkade.playing")
    # In a field, letters are letters.
    reader.on("beta").focus()
    reader.press("t", "j", "?")
    assert reader.view["trails"] is True
    assert reader.view["token"] is None
    assert reader.on("help").is_hidden()


def test_help(turned, small):
    reader = turned(small)
    reader.on("timeline").focus()
    reader.press("?")
    assert reader.on("help").is_visible()
    assert reader.get("document.getElementById('help').contains(document.activeElement)")
    assert reader.page.get_by_role("dialog", name="What you see").count() == 1
    t = reader.t
    reader.press("j", ",")
    assert (reader.view["token"], reader.t) == (None, t)
    reader.press("Escape")
    assert reader.on("help").is_hidden()
    assert reader.get("document.activeElement.id") == "timeline"
    reader.on("help-open").click()
    reader.page.get_by_role("button", name="Close").click()
    assert reader.on("help").is_hidden()


def test_every_control_has_a_name(opened):
    """As the browser tells it to a screen reader."""
    reader = opened("n=12&d=3&T=10&V=1,0.5,1&Q=1,0,0;0,1,0;0,0,1&K=random:3")
    session = reader.context.new_cdp_session(reader.page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    nodes = [(node["role"]["value"], node.get("name", {}).get("value", ""))
            for node in nodes if not node.get("ignored") and "role" in node]  # fmt: skip
    controls = [(role, name) for role, name in nodes if role in ROLES]
    assert len(controls) > 60
    assert [role for role, name in controls if not name.strip()] == []
    sliders = [name for role, name in controls if role == "slider"]
    assert len(set(sliders)) == len(sliders) >= 9
    boxes = [name for role, name in controls if role == "textbox"]
    assert len(set(boxes)) == len(boxes) >= 18


def test_what_a_screen_reader_hears(turned, small):
    reader = turned(small)
    assert reader.on("summary").get_attribute("aria-live") == "polite"
    expect(reader.on("summary")).to_have_text("t = 100: 4 clusters")
    reader.press("Home")
    start = reader.scene()["clusters"][0]
    expect(reader.on("summary")).to_have_text(f"t = 0: {start} clusters")
    line = reader.on("timeline")
    assert line.get_attribute("aria-valuetext") == f"t = 0: {start} clusters"
    assert line.get_attribute("aria-valuenow") == "0"
    label = reader.on("ball").get_attribute("aria-label")
    assert label.startswith("12 tokens on the circle.")


# Counts the changes of what a screen reader reads out by itself, and the seconds, which are two.
_HEARD = """async () => {
  const live = 'output, [aria-live]:not([aria-live="off"]), [role="status"], [role="alert"]';
  let count = 0;
  const watch = new MutationObserver(changes => { count += changes.length; });
  for (const element of document.querySelectorAll(live)) {
    watch.observe(element, { childList: true, characterData: true, subtree: true });
  }
  const begun = performance.now();
  await new Promise(yes => { setTimeout(yes, 2000); });
  return [count, (performance.now() - begun) / 1000];
}"""


def test_a_screen_reader_is_not_flooded(opened, small):
    """While the animation plays, the moment is announced now and then."""
    reader = opened(small)
    reader.get(f"{{ {SLOW_SCREEN} }}")
    reader.on("play").click()
    count, seconds = reader.page.evaluate(_HEARD)
    assert count <= seconds
    assert reader.get("parkade.playing")


def test_escape_closes_the_menu(turned, small):
    """The focus goes back to where the menu was turned, not into what is hidden."""
    reader = turned(small)
    summary = reader.on("downloads").locator("summary")
    summary.focus()
    reader.press("Enter")
    reader.press("Tab")
    assert reader.get("document.activeElement.id") == "download-png"
    reader.press("Escape")
    assert not reader.get("document.getElementById('downloads').open")
    assert reader.get("document.activeElement.tagName") == "SUMMARY"


def test_reduced_motion(opened, small):
    """Nothing moves by itself, after a preset neither; play still plays."""
    reader = opened(small)
    assert reader.t == 100
    reader.select("preset", "full")
    assert not reader.get("parkade.playing")
    assert reader.t == 1000
    transition = "getComputedStyle(document.getElementById('ball')).transitionDuration"
    assert reader.get(transition) == "0s"
    reader.on("play").click()
    assert reader.get("parkade.playing")
