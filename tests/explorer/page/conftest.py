"""A server, a browser, and a reader who opens pages and notes everything that goes wrong."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from support.explorer import explore_together
from support.reader import PATIENCE, SLOW_SCREEN, WINDOW, Reader

import parkade as pk

# The first one is Chromium without windows: the same pages for half of the CPU.
BROWSERS = "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"
# In each new context, Chromium would load two pages for its address bar, and start a process ahead
# of time: half of what a context takes. The other names are Playwright's, whose list this replaces.
NOT_NEEDED = [
    "WebUIOmniboxPopup",
    "WebUIOmniboxAimPopup",
    "SpareRendererForSitePerProcess",
    "AimEnabled",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "ThirdPartyStoragePartitioning",
]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-unsafe-swiftshader",
    f"--disable-features={','.join(NOT_NEEDED)}",
]
USUAL = {
    "viewport": WINDOW,
    "reduced_motion": "reduce",
    "color_scheme": "light",
}


@pytest.fixture(scope="package")
def server(tmp_path_factory):
    """The origin of a server, which is that of all workers: each would load the engines again."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # a folder of this run, in which each worker has its own
    with explore_together(folder) as origin:
        yield origin


# Not for the whole session: asyncio.run does not work while Playwright runs.
@pytest.fixture(scope="package")
def browser():
    """A Chromium with a profile of its own."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        executable = next(filter(None, map(shutil.which, BROWSERS)), None)
        if executable is None and not Path(playwright.chromium.executable_path).exists():
            pytest.fail(
                f"the tests of the explorer's page need one of {', '.join(BROWSERS)}; install it "
                "with: make browser"
            )
        chromium = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="package")
def tabs(browser):
    """Two readers with the usual options, with and without a network, for one test after another.

    A page in a new context takes twice the CPU of one in a tab that is there: 0.6 s, not 0.3.
    """
    readers = [Reader(browser.new_context(offline=off, **USUAL), None) for off in (False, True)]
    yield readers
    for reader in readers:
        reader.context.close()


@pytest.fixture
def opened(browser, server, tabs):
    """Makes readers, which know nothing of each other: opened(link, **options) opens a page.

    With `clock`, the page's time can be held and moved, and frames are rare: each is drawn, however
    fast time is moved. `routes` answer in the place of the server, by pattern. Other options are
    those of Playwright's contexts. By default the reader prefers reduced motion, so
    that a page shows the end of its run and rests.
    """
    readers, tab = [], tabs[0]

    def make(link="", *, origin=server, wait=True, clock=False, routes=None, **options):
        usual = origin == server and not (clock or options)
        if usual and tab not in readers:
            reader = tab
            reader.begin(origin)
        else:
            reader = Reader(browser.new_context(**{**USUAL, **options}), origin)
        readers.append(reader)
        if clock:
            reader.page.clock.install()
            reader.page.add_init_script(SLOW_SCREEN)
        for pattern, answer in (routes or {}).items():
            reader.page.route(pattern, answer)
        reader.open(link, wait)
        return reader

    yield make
    wrong = [line for reader in readers for line in reader.wrong]
    for reader in readers:
        if reader is tab:
            reader.leave(f"{server}/static/icon.svg")
        else:
            reader.context.close()
    assert not wrong


@pytest.fixture(scope="package")
def standing(browser, server):
    """A reader whose page stays open, for `turned`."""
    reader = Reader(browser.new_context(**USUAL), server)
    reader.failures = 0
    yield reader
    reader.context.close()


@pytest.fixture
def turned(standing, server, request):
    """Turns an open page to a link: turned(link) is opened(link) for a third of its CPU.

    For tests that do not care what was there before (redo does), and leave nothing but another
    address. After a test that failed, the page is opened anew.
    """
    standing.begin(server)
    if request.session.testsfailed > standing.failures:
        standing.failures = request.session.testsfailed
        standing.leave(f"{server}/static/icon.svg")

    def turn(link):
        standing.turn(link)
        return standing

    yield turn
    assert not standing.wrong


@pytest.fixture(scope="package")
def blank(tmp_path_factory):
    """The address of a file with nothing in it."""
    file = tmp_path_factory.mktemp("blank") / "blank.html"
    file.write_text("<!doctype html><title>blank</title>")
    return file.as_uri()


@pytest.fixture
def from_disk(browser, tabs, blank, tmp_path):
    """Opens files as somebody without a network does; `instead` of the file opened before.

    The text of a page is written into a file first.
    """
    readers, tab = [], tabs[1]

    def make(file, link="", *, instead=False, **options):
        if isinstance(file, str):
            text, file = file, tmp_path / f"page{len(list(tmp_path.iterdir()))}.html"
            file.write_text(text, encoding="utf-8")
        if instead:
            reader = readers.pop()
            reader.check_file()
            if reader.origin == file.as_uri():
                reader.page.goto(blank)  # another link alone would not open it again
            reader.begin(file.as_uri())
        elif not options and tab not in readers:
            reader = tab
            reader.begin(file.as_uri())
        else:
            context = browser.new_context(offline=True, **{**USUAL, **options})
            reader = Reader(context, file.as_uri())
        readers.append(reader)
        reader.page.goto(f"{file.as_uri()}#{link}")
        reader.idle()
        return reader

    yield make
    for reader in readers:
        try:
            reader.check_file()
        finally:
            if reader is tab:
                reader.leave(blank)
            else:
                reader.context.close()


@pytest.fixture
def notebook(from_disk):
    """Shows a small run as a notebook does, in a frame: notebook(**options) of `run.show`."""

    def make(**options):
        run = pk.simulate(pk.Attention(d=2, beta=9.0), pk.sphere.uniform(8, 2, seed=1), 10.0)
        text = "<!doctype html><meta charset=utf-8><script>parkade = { ready: Promise.resolve(), "
        text += f"async idle() {{}} }};</script>{run.show(**options)._repr_html_()}"
        (frame,) = from_disk(text).page.frames[1:]
        frame.evaluate("() => parkade.ready.then(() => parkade.idle())")
        return frame

    return make


@pytest.fixture(scope="module")
def left_open(browser):
    """Opens files as `from_disk` does, for all tests of a module: each must check what it needs."""
    contexts = []

    def make(file):
        contexts.append(browser.new_context(offline=True, **USUAL))
        reader = Reader(contexts[-1], file.as_uri())
        reader.page.goto(file.as_uri())
        reader.idle()
        return reader

    yield make
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def new_page(browser):
    """Makes empty pages without a network, for scripts."""
    context = browser.new_context(offline=True)
    yield context.new_page
    context.close()


@pytest.fixture(scope="package")
def small():
    """The link of a run that takes a few milliseconds."""
    return "n=12&d=2&beta=16&T=100"
