"""A reader of the explorer: opens its page, looks at it by pixels, and hears what goes wrong."""

from __future__ import annotations

import base64
import functools
import json

import numpy as np

from support.explorer import frames, labels
from support.pictures import pixels, rgb

PATIENCE = 240_000
"""Milliseconds after which something hangs: a busy machine may compile the engine meanwhile."""

WINDOW = {"width": 1280, "height": 800}
"""The usual size of the window."""

PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
"""Options of the context of a phone."""

SLOW_SCREEN = "requestAnimationFrame = (draw) => setTimeout(() => draw(performance.now()), 80);"
"""A script that makes frames rare, and playing cheap."""

_IDLE = """() => Promise.race([
  parkade.ready.then(() => parkade.idle()),
  new Promise((_, no) => { setTimeout(() => no(new Error('no scene')), %d); }),
])"""

# Draws the page again and tells what words are drawn on a canvas, with the box of their ink.
_WORDS = """async name => {
  const pen = CanvasRenderingContext2D.prototype;
  const { clearRect, fillText } = pen;
  let words = [];
  pen.clearRect = function (...box) {
    if (this.canvas.id === name) words = [];
    clearRect.apply(this, box);
  };
  pen.fillText = function (text, x, y) {
    const ink = this.measureText(text);
    if (this.canvas.id === name && text.trim()) words.push({
      text,
      left: x - ink.actualBoundingBoxLeft, right: x + ink.actualBoundingBoxRight,
      top: y - ink.actualBoundingBoxAscent, bottom: y + ink.actualBoundingBoxDescent,
    });
    fillText.call(this, text, x, y);
  };
  parkade.goTo(parkade.t);
  await parkade.idle();
  Object.assign(pen, { clearRect, fillText });
  return words;
}"""


class Reader:
    """One browser context with one page in it.

    Attributes
    ----------
    page : playwright Page
    wrong : list of str
        Errors of the console and of scripts, and requests that left the origin.
    asked : list of str
        Addresses asked for.
    """

    def __init__(self, context, origin):
        self.context = context
        context.set_default_timeout(PATIENCE)
        self.begin(origin)
        context.on("request", self._request)
        context.on("weberror", lambda event: self._hear(f"script: {event.error}"))
        context.on("console", self._console)
        self.page = context.new_page()

    def begin(self, origin):
        """Visit an origin, and forget what was heard before."""
        self.origin = origin
        self.wrong, self.asked, self._meant = [], [], []

    def leave(self, place):
        """Leave the page as if nobody had been there, for whoever uses the tab next.

        A place of the same origin keeps the browser's process, since a new one is slow.
        """
        for other in self.context.pages:
            if other is not self.page:
                other.close()
        self.page.unroute_all()
        self.page.goto(place)
        self.get("localStorage.clear()")
        self.context.clear_permissions()
        self.context.clear_cookies()
        self.page.set_viewport_size(WINDOW)
        self.page.mouse.up()  # a test may have ended while it pressed the button
        self.page.mouse.move(0, 0)

    def _request(self, request):
        self.asked.append(request.url)
        if not request.url.startswith((f"{self.origin}/", "data:", "blob:")):
            self._hear(f"request: {request.url}")

    def _console(self, message):
        if message.type == "error":
            self._hear(f"console: {message.text} ({message.location['url']})")

    def _hear(self, line):
        if not any(text in line for text in self._meant):
            self.wrong.append(line)

    def forgive(self, text, certain=True):
        """Something was meant to go wrong, and did or will; or may have, if it is not certain.

        The browser tells of it some time after the page knows, and perhaps more than once.
        """
        if certain and text not in self._meant:
            self.until(lambda: any(text in line for line in self.wrong))
        self._meant.append(text)
        self.wrong = [line for line in self.wrong if text not in line]

    def check_file(self):
        """Nothing went wrong, and nothing was asked for but the file, and what it has or makes."""
        others = [url for url in self.asked if not url.startswith(("data:", "blob:"))]
        assert {url.partition("#")[0] for url in others} <= {self.origin}
        assert not [line for line in self.wrong if not line.startswith("request: file:")]

    def open(self, link="", wait=True):
        """Open the page with the settings and view of a link, and wait for its scene."""
        self.page.goto(f"{self.origin}/#{link}")
        if wait:
            self.idle()

    def turn(self, link):
        """Open a link in the page as the last test left it, in a window of the usual size."""
        self.page.mouse.up()  # a test may have ended while it pressed the button
        self.page.mouse.move(0, 0)
        self.get("document.activeElement?.blur()")
        self.get(
            "document.getElementById('toast')?.setAttribute('hidden', '')"
        )  # over the time line
        self.open(link)
        if self.page.viewport_size != WINDOW:
            self.resize(**WINDOW)

    def idle(self):
        """Wait until nothing is computed and all is drawn."""
        self.page.evaluate(_IDLE % PATIENCE)

    def until(self, true):
        """Wait until a function returns true, while events of the browser arrive."""
        while not true():
            self.page.wait_for_timeout(20)

    def wait(self, expression):
        """Wait until an expression in the page is true."""
        self.until(lambda: self.get(expression))

    def resize(self, width, height):
        """Change the size of the window, and wait until all is drawn in it."""
        self.page.set_viewport_size({"width": width, "height": height})
        self.wait(f"innerWidth === {width} && innerHeight === {height}")
        self.idle()

    def on(self, name):
        """The element with this id."""
        return self.page.locator(f"#{name}")

    def get(self, expression):
        """The value of an expression in the page."""
        return self.page.evaluate(f"() => {expression}")

    def text(self, name):
        """The text of an element."""
        return self.on(name).inner_text()

    def value(self, name):
        """What a field says."""
        return self.on(name).input_value()

    def pressed(self, name):
        """Whether a button that stays down is down."""
        return json.loads(self.on(name).get_attribute("aria-pressed"))

    def type(self, name, value):
        """Type a value into a field, leave it, and wait for the scene."""
        self.on(name).fill(str(value))
        self.on(name).blur()
        self.idle()

    def click(self, *names):
        """Click elements, and wait for what comes of it."""
        for name in names:
            self.on(name).click()
        self.idle()

    def check(self, *names):
        """Choose options that stand side by side, and wait for the scene."""
        for name in names:
            self.on(name).check()
        self.idle()

    def select(self, name, value):
        """Choose an option of a menu, and wait for the scene."""
        self.on(name).select_option(value)
        self.idle()

    def slide(self, name, share):
        """Move a slider, and wait for the scene."""
        self.on(name).fill(share)
        self.idle()

    def point(self, x=5, y=5):
        """Move the pointer, by default to where nothing is, and wait for what comes of it."""
        self.page.mouse.move(x, y)
        self.idle()

    def point_at(self, k):
        """Move the pointer to a token."""
        box = self.on("ball").bounding_box()
        x, y, _ = self.places()[k]
        self.point(box["x"] + x, box["y"] + y)

    def follow(self, link, wait=True):
        """Give the page another link, as the bar of addresses does, and wait for its scene."""
        self.page.evaluate("link => { location.hash = link; }", link)
        if wait:
            self.idle()

    def lose(self, pattern="**/api/**"):
        """Let nobody answer at these addresses, until `page.unroute_all()`."""
        self.page.route(pattern, lambda route: route.abort("connectionrefused"))

    def open_menu(self):
        """Open the menu of downloads, or close it."""
        self.on("downloads").locator("summary").click()

    def press(self, *keys):
        """Press keys, and wait for what comes of it."""
        for key in keys:
            self.page.keyboard.press(key)
        self.idle()

    def drag(self, dx, dy):
        """Drag the picture by its middle."""
        box = self.on("ball").bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        self.page.mouse.move(x, y)
        self.page.mouse.down()
        self.page.mouse.move(x + dx, y + dy, steps=5)
        self.page.mouse.up()
        self.point()

    def go(self, t):
        """Show the time t."""
        self.page.evaluate("t => { parkade.goTo(t); return parkade.idle(); }", t)

    @property
    def state(self):
        """Whether the page computes, is ready, shows other settings, or an error."""
        return self.get("document.documentElement.dataset.state")

    @property
    def theme(self):
        return self.get("document.documentElement.dataset.theme")

    @property
    def t(self):
        """The time that the page shows."""
        return self.get("parkade.t")

    @property
    def settings(self):
        return self.get("parkade.settings")

    @property
    def view(self):
        return self.get("parkade.view")

    @property
    def link(self):
        """What the address says, when it has come to rest."""
        # The page writes its link a quarter of a second after the last movement.
        return self.get("new Promise(r => setTimeout(() => r(location.hash.slice(1)), 350))")

    def data(self):
        """The scene as the server sends it: packed frames take less CPU than numbers in JSON."""
        return json.loads(self.get("JSON.stringify(parkade.scene.toData())"))

    def scene(self):
        """The scene, with frames (F, n, d) and labels (F, n)."""
        scene = self.data()
        unpacked = {"frames": frames(scene).astype(float), "labels": labels(scene).astype(int)}
        return scene | unpacked

    def places(self):
        """Where tokens are drawn on #ball: x, y, depth, (n, 3)."""
        return np.array(self.get("Array.from(parkade.places)")).reshape(-1, 3)

    def words(self, name):
        """The words that are drawn on a canvas: text, left, right, top, bottom."""
        return self.page.evaluate(_WORDS, name)

    def color(self, name):
        """A colour of the style sheet."""
        style = "getComputedStyle(document.documentElement)"
        return rgb(self.get(f"{style}.getPropertyValue('--{name}').trim()"))

    def picture(self, name="ball"):
        """What is seen of an element, as (height, width, 3) from 0 to 255."""
        return self._shot(*self._box(name))

    def pictures(self, *names):
        """What is seen of some elements at the same moment."""
        boxes = list(map(self._box, names))
        left, top = min(x for x, *_ in boxes), min(y for _, y, *_ in boxes)
        right, bottom = max(x + w for x, _, w, _ in boxes), max(y + h for _, y, _, h in boxes)
        whole = self._shot(left, top, right - left, bottom - top)
        return [whole[y - top : y - top + h, x - left : x - left + w] for x, y, w, h in boxes]

    def _shot(self, x, y, w, h):
        """What is seen of a part of the window.

        Not by Playwright, which hides the caret before, and packs pictures as small as it can: that
        takes twice the CPU.
        """
        clip = {"x": x, "y": y, "width": w, "height": h, "scale": 1}
        options = {"format": "png", "optimizeForSpeed": True, "clip": clip}
        shot = self._tools.send("Page.captureScreenshot", options)
        return pixels(base64.b64decode(shot["data"]))

    @functools.cached_property
    def _tools(self):
        """The tools of Chromium for developers."""
        return self.context.new_cdp_session(self.page)

    def _box(self, name):
        """Left, top, width and height of an element, in whole pixels."""
        box = self.on(name).bounding_box()
        return [round(box[side]) for side in ("x", "y", "width", "height")]


def download(reader, kind):
    """The name and the bytes of a file."""
    reader.open_menu()
    with reader.page.expect_download() as waiting:
        reader.on(f"download-{kind}").click()
    with open(waiting.value.path(), "rb") as file:
        return waiting.value.suggested_filename, file.read()
