// A run in a page: planned, stepped and taken apart by compiled code, then put into words.

import { Assembly } from './assembly.js';
import { Wrong, checkReach, readSettings } from './check.js';
import { Engine, Inaccurate } from './engine.js';
import { Failure } from './memory.js';
import { Pace } from './pace.js';
import { Planner } from './planner.js';
import { brief, filled, general } from './python.js';
import { factsOf, fileName, formulaOf, labelOf, maskOf } from './texts.js';

const FORMAT = 'parkade scene 1';
const STABLE = 3.3; // |V| times the longest explicit step that is stable

/** Nobody waits for the run any more. */
export class Cancelled extends Error {}

const now = () => performance.now() / 1000;

export class Simulation {
  /** `knowledge` is what Python says of settings. */
  constructor(knowledge) {
    this.knowledge = knowledge;
    this.parts = new Map(); // modules with memory, by name
  }

  /** Bytes of memory of all parts. */
  get memory() { return [...this.parts.values()].reduce((sum, { calls }) => sum + calls.memory.buffer.byteLength, 0); }

  /** A part of this class with a module in it; it is made once, so that its memory is used again. */
  part(Kind, name, engines) {
    if (!this.parts.has(name)) this.parts.set(name, new Kind(engines[name]));
    return this.parts.get(name);
  }

  /** The data of a scene; see `host` in worker.js. */
  async scene(given, engines, host) {
    const run = await this.run(given, engines, host);
    const { settings, plan, stats, assembly } = run;
    const { fields, formula } = this.knowledge;
    return {
      format: FORMAT,
      label: labelOf(settings, fields),
      file_name: fileName(settings),
      facts: factsOf(settings, fields, plan.held.length),
      settings,
      n: settings.n,
      d: settings.d,
      log_radii: null,
      axes: null,
      beta: settings.beta,
      mask: maskOf(settings),
      heads: null,
      betas: null,
      equation: formulaOf(settings, fields, formula),
      stats,
      ...assembly.scene(),
    };
  }

  /** When clusters merge, seen and foretold. */
  async stairs(given, engines, host) {
    const { assembly } = await this.run(given, engines, host);
    return assembly.stairs();
  }

  /** All steps of a run, in the assembly. */
  async run(given, engines, host) {
    const { settings, matrices } = readSettings(given, this.knowledge);
    checkReach(settings, this.knowledge);
    const wanted = { ...settings, ...matrices, tol: this.knowledge.limits.tol };
    const planner = this.part(Planner, 'plan', engines);
    const assembly = this.part(Assembly, 'scene', engines);
    let plan = planner.plan(wanted);
    this.foresee(settings, plan);
    const begun = now();
    for (;;) {
      try {
        const taken = await this.steps(plan, wanted, { assembly, engines, host, begun });
        const { method, reason, engine } = plan;
        return { settings, plan, assembly, stats: { method, reason, engine, ...taken } };
      } catch (error) {
        if (!(error instanceof Inaccurate)) throw error;
        plan = planner.direct(plan, `run again: ${error.message}`);
      }
    }
  }

  /** Throw if a run is certain to take more steps than allowed. */
  foresee({ n, T, frozen: kind }, { method, reason, rate, held }) {
    const free = n - held.length;
    if (!free) throw new Wrong([{ error: filled(this.knowledge.sentences.held, { kind: brief(kind), n }), field: 'frozen' }]);
    const steps = (rate * T) / STABLE;
    const most = this.knowledge.limits.token_steps;
    if (method === 'implicit' || free * steps <= most) return;
    const error = `T=${general(T)} would take about ${general(steps, 2)} steps of ${free} tokens (${reason}); choose T up to ${general((most * STABLE) / (free * rate), 2)}`;
    throw new Wrong([{ error, field: 'T' }]);
  }

  /** Take the steps of a plan into the assembly; how many there were, and how long they took. */
  async steps(plan, wanted, { assembly, engines, host, begun }) {
    const { limits } = this.knowledge;
    const { T, tol, d } = wanted;
    const engine = this.part(Engine, `${plan.method}${d}`, engines);
    const pace = new Pace(plan.method, T, tol, now);
    const passed = plan.method === 'implicit' ? Math.log1p : (t) => t; // in a long run each decade counts the same
    const free = plan.problem.tokens.length / d;
    let [steps, bytes] = [0, 0];
    assembly.begin(plan, wanted);
    for (const chunk of engine.run(plan.problem)) {
      const t = chunk.times[chunk.times.length - 1];
      steps += chunk.times.length;
      bytes += chunk.tokens.byteLength + chunk.dense.byteLength;
      const advice = `, at t=${general(t, 3)} after ${steps} steps; choose a smaller T or n, or use parkade explore`;
      if (now() - begun > limits.seconds) throw new Failure(`stopped after ${limits.seconds} s${advice}`);
      if (steps * free > limits.token_steps) throw new Failure(`stopped at ${general(limits.token_steps)} steps of single tokens${advice}`);
      if (bytes > limits.memory) throw new Failure(`stopped at ${general(limits.memory / 2 ** 20)} MiB of steps${advice}`);
      assembly.add(chunk);
      host.progress(passed(t) / passed(T));
      const stuck = pace.judge(steps, t);
      if (stuck) throw new Failure(stuck);
      await host.checkpoint();
    }
    return { steps, seconds: now() - begun };
  }
}
