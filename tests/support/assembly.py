"""Scenes that a page assembles, beside those of the server."""

from __future__ import annotations

import base64
import functools

import numpy as np

from parkade.analysis.centers import KINDS, consumption_radius
from parkade.analysis.clusters import default_radius
from parkade.explorer.scenes.compute import compute_run
from parkade.explorer.settings.limits import Limits, tol_of
from parkade.explorer.settings.rules import knowledge
from parkade.explorer.settings.settings import Settings
from parkade.runs.rotation import turn
from parkade.solve.options import Options
from parkade.solve.solver import Solver
from support.lowered import module
from support.wasm import page_script

CHUNK = 64

_BEGIN = """(text) => {
  const module = new WebAssembly.Module($base64.bytesOf(text));
  globalThis.assembly = new $assembly.Assembly(module, shared);
}"""

_MAKE = """([what, plan, wanted, steps, chunk]) => {
  const numbers = (text) => new Float64Array($base64.bytesOf(text).buffer);
  const [times, tokens, dense] = [steps.times, steps.tokens, steps.dense].map(numbers);
  const begun = performance.now();
  assembly.begin(plan, wanted);
  const some = (values, i) => {
    const each = values.length / times.length;
    return values.slice(i * each, Math.min(times.length, i + chunk) * each);
  };
  for (let i = 0; i < times.length; i += chunk) {
    assembly.add({ times: some(times, i), tokens: some(tokens, i), dense: some(dense, i) });
  }
  const made = assembly[what]();
  const seconds = (performance.now() - begun) / 1000;
  for (const [name, value] of Object.entries(made)) {
    if (value instanceof ArrayBuffer) made[name] = $base64.base64(new Uint8Array(value));
  }
  return { made, seconds, used: assembly.used };
}"""


@functools.cache
def native(**chosen):
    """A run of the explorer, and its settings."""
    settings = Settings.read(chosen)
    return compute_run(settings, Limits(), lambda part: None, lambda: False)[0], settings


def planned(settings, run):
    """What page/compute/planner.js gives of these settings."""
    model, held, x = settings.model, settings.held, settings.start
    options = Options(settings.T, tol=tol_of(model), frozen=x[held] if len(held) else None)
    plan = Solver(model, options).plan(run.n)
    frame, head, generator = plan.frame, settings.layer.heads[0], settings.layer.generator
    return frame, {
        "start": x.ravel().tolist(),
        "V": head.V.ravel().tolist(),
        "generator": None if generator is None else generator.ravel().tolist(),
        "product": head.product.ravel().tolist(),
        "rate": model.rate,
        "sharpness": model.sharpness,
        "delta": settings.delta,
        "centers": {name: find(x, settings.delta).tolist() for name, find in KINDS.items()},
        "held": held.tolist(),
        "radius": default_radius(model),
        "consumption_radius": consumption_radius(settings.beta),
        "frame": {"basis": frame.basis.ravel().tolist(), "spin": frame.spin.ravel().tolist()},
        "method": run.stats.method,
    }


class Assembled:
    """A page that makes scenes."""

    def __init__(self, page, change=lambda module: module):
        self.page = page
        page.goto("about:blank")
        page.add_script_tag(content=page_script("assembly", "check"))
        page.evaluate(_BEGIN, base64.b64encode(change(module("scene"))).decode())

    def make(self, what, run, settings):
        """The `scene` or the `stairs` of a run's steps."""
        frame, plan = planned(settings, run)
        d = run.d
        states = frame.enter(turn(-run.spin, run.times, run.tokens))
        if run.radii is not None:
            states = np.concatenate([states, np.log(run.radii)[..., None]], axis=-1)
        dense = np.concatenate([frame.enter(run.dense[..., :d]), run.dense[..., d:]], axis=-1)
        steps = {"times": run.times[1:], "tokens": states[1:], "dense": dense}
        packed = {name: _packed(values) for name, values in steps.items()}
        wanted = self.page.evaluate(
            "([all, limits]) => $check.effective(all, limits)",
            [settings.to_dict(), knowledge()["limits"]],
        )
        return self.page.evaluate(_MAKE, [what, plan, wanted, packed, CHUNK])


def _packed(values):
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f8").tobytes()).decode()
