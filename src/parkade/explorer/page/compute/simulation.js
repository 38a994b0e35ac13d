// A run in a page: planned, stepped and taken apart by compiled code, then put into words.

import { Assembly } from './assembly.js';
import { Wrong, checkReach, effective, readSettings } from './check.js';
import { Engine, Inaccurate, moduleOf } from './engine.js';
import { FieldPlanner } from './fieldplanner.js';
import { Failure } from './slots.js';
import { Pace } from './pace.js';
import { Planner } from './planner.js';
import { brief, filled, general } from './python.js';
import { factsOf, fileName, formulaOf, labelOf, maskOf } from '../panels/texts.js';

/** Nobody waits for the run any more. */
export class Cancelled extends Error {}

/** A run that does not come to its end. */
class Stuck extends Failure {
  field = 'norm';
}

const now = () => performance.now() / 1000;

const finite = (x) => (Number.isFinite(x) ? x : null);

export class Simulation {
  /** `knowledge` is what Python says of settings and engines: explorer/standalone/contents.py. */
  constructor(knowledge) {
    this.knowledge = knowledge;
    this.parts = new Map(); // modules with memory, by name
  }

  /** Bytes of memory of all parts. */
  get memory() { return [...this.parts.values()].reduce((sum, { calls }) => sum + calls.memory.buffer.byteLength, 0); }

  /** A part of this class with a module in it; it is made once, so that its memory is used again. */
  part(Kind, name, engines, ...more) {
    if (!this.parts.has(name)) this.parts.set(name, new Kind(engines[name], this.knowledge.shared, ...more));
    return this.parts.get(name);
  }

  /** The data of a scene; see `host` in worker.js. */
  async scene(requested, engines, host) {
    const { settings, plan, stats, trusted, assembly } = await this.run(requested, engines, host);
    const { fields, formula } = this.knowledge;
    const { n, d, beta } = settings;
    const frozen = [...plan.held].map((k) => [...plan.start.slice(k * d, (k + 1) * d)]);
    return {
      format: this.knowledge.shared.scene.format,
      label: labelOf(settings, fields),
      file_name: fileName(settings),
      facts: factsOf(settings, fields, frozen.length),
      settings,
      n,
      d,
      log_radii: null,
      axes: null,
      beta,
      mask: maskOf(settings),
      equation: formulaOf(settings, fields, formula),
      frozen,
      frozen_weights: frozen.map(() => 1),
      stats,
      trusted_until: finite(trusted),
      phase_known_until: finite(plan.phase_known_until),
      ...assembly.scene(),
    };
  }

  /** When clusters merge, as seen and as forecast. */
  async stairs(requested, engines, host) {
    const { assembly } = await this.run(requested, engines, host);
    return assembly.stairs();
  }

  /** All steps of a run, in the assembly. */
  async run(requested, engines, host) {
    const { settings, matrices } = readSettings(requested, this.knowledge);
    checkReach(settings, this.knowledge);
    const { limits } = this.knowledge;
    const used = effective(settings, limits);
    const wanted = { ...used, ...matrices, tol: used.noise > 0 ? limits.noisy_tol : limits.tol };
    const plain = this.part(Planner, 'plan', engines);
    const planner = engines.fieldplan ? this.part(FieldPlanner, 'fieldplan', engines, plain) : plain;
    const assembly = this.part(Assembly, 'scene', engines);
    let plan = planner.plan(wanted);
    this.foresee(settings, plan);
    const begun = now();
    for (;;) {
      try {
        const { steps, trusted } = await this.steps(plan, wanted, { assembly, engines, host, begun });
        const { method, reason, engine } = plan;
        const stats = { method, reason, engine, steps, seconds: now() - begun };
        return { settings, plan, assembly, stats, trusted };
      } catch (error) {
        const other = error instanceof Inaccurate ? planner.direct(plan)
          : error instanceof Stuck ? planner.instead(plan, wanted) : null;
        if (!other) throw error;
        plan = other;
      }
    }
  }

  /** Throw if a run is certain to take more steps than allowed, or has nothing that moves. */
  foresee({ n, T, frozen }, { held, problem, reason, steps, longest }) {
    const { sentences, limits } = this.knowledge;
    if (!problem) throw new Wrong([{ error: filled(sentences.held, { kind: brief(frozen), n }), field: 'frozen' }]);
    const free = n - held.length;
    if (free * steps <= limits.token_steps) return;
    const blanks = { T: general(T), steps: general(steps, 2), free, reason, longest: general(longest, 2) };
    throw new Wrong([{ error: filled(sentences.too_far, blanks), field: 'T' }]);
  }

  /** Take the steps of a plan into the assembly; how many there were, and where they ended. */
  async steps(plan, wanted, { assembly, engines, host, begun }) {
    const { T, tol } = wanted;
    const engine = this.part(Engine, moduleOf(plan.problem), engines);
    // In a long run each decade counts the same, unless all turns take steps.
    const passed = plan.method === 'implicit' && !plan.effort.turning ? Math.log1p : (t) => t;
    const free = wanted.n - plan.held.length;
    const pace = new Pace(plan.method, T, tol, plan.effort, this.knowledge.shared.pace);
    const taken = { steps: 0, bytes: 0, seconds: 0, t: 0, trusted: Infinity };
    let span = null;
    assembly.begin(plan, wanted);
    for (const chunk of engine.run(plan.problem, () => pace.room(taken.steps))) {
      if (span && chunk.span.some((t, i) => t !== span[i])) pace.begin(taken.steps, chunk.span);
      ({ span } = chunk);
      taken.steps += chunk.times.length;
      taken.bytes += chunk.tokens.byteLength + chunk.dense.byteLength;
      taken.seconds = now() - begun;
      taken.t = chunk.times[chunk.times.length - 1];
      taken.trusted = chunk.trusted;
      this.limit(taken, free);
      assembly.add(chunk);
      host.progress(passed(taken.t) / passed(T));
      const stuck = pace.judge(taken.steps, taken.t);
      if (stuck) throw new Stuck(filled(this.knowledge.sentences.stuck, { reason: stuck }));
      await host.checkpoint();
    }
    return taken;
  }

  /** Throw if a run takes more than it may. */
  limit({ steps, bytes, seconds, t }, free) {
    const { limits, sentences } = this.knowledge;
    const MiB = 2 ** 20;
    for (const [name, used, most] of [
      ['seconds', seconds, limits.seconds],
      ['token_steps', steps * free, limits.token_steps],
      ['memory', bytes / MiB, limits.memory / MiB],
    ]) {
      if (used <= most) continue;
      const stopped = filled(sentences.stopped[name], { most: general(most) });
      throw new Failure(`${stopped}${filled(sentences.stopped_at, { t: general(t, 3), steps })}, or use parkade explore`);
    }
  }
}
