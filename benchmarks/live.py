"""Live pages: seconds from opening a file to its first picture, and runs against native ones.

    python benchmarks/live.py                prints two tables in Markdown

The file is that of the whole life of 200 tokens, opened from a disk by a Chromium. Runs in the
page, with everything from the settings to the scene, and the same ones in Python take turns; the
best of each counts.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from parkade.explorer import scene
from parkade.explorer.standalone.export import page

ROUNDS = 5
FIRST, BAR = 1.0, 2.5
BROWSERS = "chromium", "chromium-browser", "google-chrome"

LIFE = {"n": 200, "d": 2, "beta": 64.0, "T": 1e60}
CASES: dict[str, tuple[dict[str, Any], bool]] = {
    "life": (LIFE, True),
    "n = 500, T = 1000": ({"n": 500, "d": 2, "beta": 64.0, "T": 1000.0}, True),
    "figure 2": ({"n": 200, "d": 2, "beta": 64.0, "T": 150.0}, False),
    "full attention": ({"n": 100, "d": 2, "beta": 16.0, "mask": "full", "T": 20.0}, False),
}
"""Settings, and whether the bar is meant for them."""

_DRAWN = """() => parkade.ready.then(() => new Promise((done) => {
  requestAnimationFrame(() => done((performance.timeOrigin + performance.now()) / 1000));
}))"""
_RUN = """async (wanted) => {
  const link = new URLSearchParams({ ...wanted, seed: 2 });
  location.hash = link.toString();
  dispatchEvent(new PopStateEvent('popstate', { state: null }));
  await parkade.idle();
  const begun = performance.now();
  location.hash = new URLSearchParams({ ...wanted, seed: 1 }).toString();
  dispatchEvent(new PopStateEvent('popstate', { state: null }));
  while (parkade.scene.settings.seed !== 1) await new Promise((done) => { setTimeout(done, 4); });
  const { seconds, steps } = parkade.scene.stats;
  return [(performance.now() - begun) / 1000, seconds, steps];
}"""


def first_picture(browser: Browser, file: Path) -> None:
    """Seconds from asking for the file to its picture, each time with nothing in the cache."""
    spent = []
    for _ in range(ROUNDS):
        context = browser.new_context(offline=True)
        tab = context.new_page()
        begun = time.time()
        tab.goto(file.as_uri())
        spent.append(tab.evaluate(_DRAWN) - begun)
        context.close()
    size = file.stat().st_size / 1e6
    print(f"| file, MB | first picture, s: best | worst | bar {FIRST:g} |\n|---:|---:|---:|---|")
    met = "met" if min(spent) <= FIRST else "missed"
    print(f"| {size:.2f} | {min(spent):.2f} | {max(spent):.2f} | {met} |\n")


def speed(tab: Page) -> None:
    """From settings to a scene, in the page and in Python."""
    print("| run | steps | page, s | its steps, s | Python, s | its steps, s | ratio of steps | |")
    print("|---|---:|---:|---:|---:|---:|---:|---|")
    for name, (settings, counts) in CASES.items():
        mine: list[tuple[float, float]] = []
        theirs: list[tuple[float, float]] = []
        for _ in range(ROUNDS):
            whole, steps, count = tab.evaluate(_RUN, settings)
            mine.append((whole, steps))
            begun = time.perf_counter()
            result = scene(settings)
            theirs.append((time.perf_counter() - begun, result["stats"]["seconds"]))
        page_all, page_steps = (min(column) for column in zip(*mine, strict=True))
        own_all, own_steps = (min(column) for column in zip(*theirs, strict=True))
        ratio = page_steps / own_steps
        verdict = "" if not counts else "met" if ratio <= BAR else "missed"
        print(
            f"| {name} | {count} | {page_all:.3f} | {page_steps:.3f} | {own_all:.3f} | "
            f"{own_steps:.3f} | {ratio:.2f} | {verdict} |"
        )


def main() -> None:
    """Print the tables of first pictures and of speed."""
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        file = Path(place, "life.html")
        file.write_text(page(scene(LIFE), live=True), encoding="utf-8")
        path = next(filter(None, map(shutil.which, BROWSERS)), None)
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        first_picture(browser, file)
        tab = browser.new_context(offline=True, reduced_motion="reduce").new_page()
        tab.goto(file.as_uri())
        tab.evaluate("() => parkade.ready.then(() => parkade.idle())")
        speed(tab)
        browser.close()


if __name__ == "__main__":
    main()
