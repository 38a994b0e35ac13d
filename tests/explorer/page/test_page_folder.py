"""The whole explorer as static files: any host serves it, and nothing else is needed."""

from __future__ import annotations

import functools
import http.server
import threading

import numpy as np
import pytest
from playwright.sync_api import expect
from support.reader import PATIENCE

import parkade as pk
from parkade.explorer.settings.presets import presets
from parkade.explorer.standalone import folder

PRESETS = {preset.name: preset for preset in presets()}


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server of files that prints nothing."""

    def log_message(self, *args):
        """Print nothing for a request."""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The origin of a host that has the page in a folder among others."""
    root = tmp_path_factory.mktemp("host")
    folder.write(root / "some" / "where")
    handler = functools.partial(Quiet, directory=root)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/some/where"
        server.shutdown()


def test_it_opens_on_the_recorded_run(opened, site):
    reader = opened(origin=site)
    assert reader.settings == PRESETS["life"].settings.to_dict()
    assert reader.t == 1e60
    assert reader.value("preset") == "life"
    for name in ("npz", "html", "live"):
        assert reader.on(f"download-{name}").is_hidden()
    # All that is asked for is in the folder.
    assert all(url.startswith((f"{site}/", "blob:")) for url in reader.asked)


def test_presets_links_and_the_tour(opened, site):
    reader = opened("n=12&d=3&beta=9&T=100&t=3", origin=site)
    assert reader.t == pytest.approx(3)
    assert reader.get("parkade.scene.d") == 3
    offered = reader.get("[...document.getElementById('preset').options].map((o) => o.value)")
    assert "life" in offered
    assert "high" not in offered  # eight dimensions
    reader.select("preset", "fig2")
    assert reader.settings == PRESETS["fig2"].settings.to_dict()
    assert reader.state == "ready"
    reader.page.go_back()
    reader.idle()
    assert reader.settings["n"] == 12
    reader.click("tour-open")
    assert reader.text("tour-title") == "Tokens"
    for _ in range(5):
        reader.click("tour-next")
    assert reader.text("tour-title") == "What V changes"
    assert reader.get("parkade.beside.settings.V") == "I"


def test_side_by_side_and_many_seeds(opened, site):
    reader = opened("n=8&d=2&beta=16&T=2000&beside=beta:4", origin=site)
    assert reader.get("parkade.beside.beta") == 4
    reader.on("many").click()
    reader.wait("parkade.many.length === 100")
    expect(reader.on("seeds")).to_be_hidden()
    runs = reader.get("parkade.many")
    assert len(runs) == 100
    seen = [tuple(np.round(run["seen"], 6)) for run in runs]
    x0 = pk.sphere.uniform(8, 2, seed=57)
    run = pk.simulate(pk.Attention(d=2, beta=16.0), x0, 2000.0)
    times = sorted(event.time for event in run.merge_tree().events)
    assert sum(len(s) == len(times) and np.allclose(s, times, rtol=1e-5) for s in seen) == 1


def test_without_simd_it_plays_the_recorded_run(browser, site):
    context = browser.new_context(reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    context.add_init_script("WebAssembly.validate = () => false;")
    tab = context.new_page()
    tab.goto(site + "/")
    tab.evaluate("() => parkade.ready.then(() => parkade.idle())")
    assert tab.evaluate("() => parkade.scene.n") == 200
    assert "(SIMD)" in tab.locator("#lacks").inner_text()
    context.close()
