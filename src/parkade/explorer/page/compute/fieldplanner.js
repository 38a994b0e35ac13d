// Plans for what the page offers beyond one plain head: several heads, MLP, norms, positions, windows
// and prefixes, noise, and a β that grows. The module: packaging/wasm/fieldplan.py.

import { Failure } from './slots.js';
import { Planner } from './planner.js';

const RANKS = [2, 2, 2, 1, 2, 2, 2, 1, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1];
const NONE = 0; // methods that all models of a run have in common
const METHODS = { explicit: 1, implicit: 2 };
const LENGTHS = ['pre', 'peri', 'mix']; // norms under which tokens have lengths

/** Rows of a flat matrix, each as an array. */
function split(values, columns) {
  return Array.from({ length: values.length / columns }, (_, i) => [
    ...values.subarray(i * columns, (i + 1) * columns)]);
}

/** The iterable that calls a function for each number below a count, whenever it is iterated. */
function each(count, find) {
  return { * [Symbol.iterator]() { for (let i = 0; i < count; i += 1) yield find(i); } };
}

/** Whether no token attends to a later one. */
function isCausal({ mask, reach }) {
  return mask === 'causal' || mask === 'window' || (mask === 'prefix' && reach === 1);
}

export class FieldPlanner extends Planner {
  /** A planner with its own module, and that for one plain head. */
  constructor(module, plain) {
    super(module);
    this.plain = plain;
  }

  /**
   * The plan of a run, as Planner.plan describes it.
   *
   * Wanted are also `mask` 'window' or 'prefix' with its `reach`, and `norm`, `heads`, `rank`, `mlp`,
   * `gain`, `sample`, `encoding`, `slope`, `noise` and `growth`, as the settings of the page. A plan
   * has also the `heads` as a scene shows them, `generator` (the sum of all V, if there is no MLP),
   * the number of `columns` of states, and, if β grows, the `schedule`: { starts, betas }.
   */
  plan(wanted) {
    const mask = wanted.mask === 'full' ? 'full' : 'causal';
    const base = this.plain.plan({ ...wanted, mask });
    const schedule = wanted.growth > 0 ? this.schedule(wanted) : null;
    if (!this.hasParts(wanted)) return schedule ? this.grown(wanted, base, schedule) : base;
    if (base.held.length) {
      throw new Failure('pages have no engine for frozen tokens beside these parts; choose frozen none');
    }
    const { V, Q, K, start, product } = base;
    const given = { ...wanted, V, Q, K, start, product };
    return { ...base, ...(schedule ? this.scheduled(given, schedule) : this.transformer(given)) };
  }

  /** The plan with direct sums instead of harmonic ones. */
  direct(plan) { return plan.again ? plan.again() : this.plain.direct(plan); }

  /** Another plan for a run whose explicit steps are too short; null if there is none. */
  instead(plan, wanted) {
    const other = super.instead(plan, wanted);
    return other && !other.frame.rotates ? { ...other, reason: this.texts.instead } : null;
  }

  /** Whether a model is more than one plain head. */
  hasParts({ mask, norm, heads, mlp, gain, encoding, noise }) {
    return !['causal', 'full'].includes(mask) || norm !== 'post' || heads > 1
      || (mlp > 0 && gain !== 0) || encoding !== 'none' || noise > this.texts.still;
  }

  /** When the pieces of a growing β begin and end, how long they last, and β in each. */
  schedule({ beta, growth, T }) {
    const found = this.asked('schedule', [], [beta, growth, T], 1, 1, 1, 1);
    const [starts, ends, durations, betas] = found;
    return { starts, ends, durations, betas };
  }

  /** One plain head whose β grows: a plan for each piece, made when it begins. */
  grown(wanted, base, schedule, direct = false) {
    const { d } = wanted;
    const { starts, ends, durations, betas } = schedule;
    const rows = (keep) => Float64Array.from(base.start.filter((_, i) => keep(Math.floor(i / d))));
    const held = new Set(base.held);
    const [free, still] = [rows((k) => !held.has(k)), rows((k) => held.has(k))];
    const choose = (more) => {
      const found = this.plain.chosen({ ...wanted, V: base.V, Q: base.Q, K: base.K, ...more },
        free.slice(), still.slice());
      return direct ? this.plain.direct(found) : found;
    };
    const drafts = [betas[0], betas.at(-1)].map((beta) => choose({ beta }));
    const implicit = drafts.some(({ method }) => method === 'implicit');
    const { method, reason, frame } = drafts.find((one) => !implicit || one.method === 'implicit');
    const used = { engines: new Set(), sums: new Set() };
    const pieces = each(betas.length, (i) => {
      const [start, T] = [starts[i], durations[i]];
      const { problem, engine, sums } = choose({ beta: betas[i], T, implicit });
      used.engines.add(engine);
      used.sums.add(sums);
      const late = this.first(start, T, frame);
      return { ...problem, times: [late, start, ends[i]], t_end: late + T };
    });
    return {
      ...base,
      method,
      reason,
      frame,
      get engine() {
        const [one, ...more] = used.engines;
        const many = more.length > 1;
        return many ? `${one}, …, then ${more.at(-1)}` : [one, ...more].join(', then ');
      },
      get sums() { return [...used.sums].join(' and '); },
      radius: this.plain.plan({ ...wanted, beta: betas.at(-1) }).radius,
      schedule: { starts, betas },
      problem: { method, d, pieces },
      again: () => this.grown(wanted, base, schedule, true),
    };
  }

  /** A transformer whose β grows. */
  scheduled(given, { starts, ends, durations, betas }) {
    const piece = (i, method) => this.lowered({
      ...given, beta: betas[i], begin: starts[i], end: ends[i], duration: durations[i], piece: i, method,
    });
    const { plan } = this.lowered(given);
    const last = piece(betas.length - 1, METHODS[plan.method]);
    const pieces = each(betas.length, (i) => piece(i, METHODS[plan.method]).problem);
    return {
      ...plan,
      frame: last.plan.frame,
      radius: last.plan.radius,
      heads: this.lowered({ ...given, beta: 1 }).plan.heads,
      schedule: { starts, betas },
      problem: { method: plan.method, d: given.d, parts: true, pieces },
    };
  }

  /** A transformer; two of them one after the other, if its norm changes. */
  transformer(given) {
    const { plan, problem } = this.lowered(given);
    if (given.norm !== 'mix' || given.T <= this.texts.until) return { ...plan, problem };
    const { method } = plan;
    const { until } = this.texts;
    const [begins, ends] = [[0, until], [until, given.T]];
    const pieces = each(2, (i) => this.lowered({
      ...given,
      now: ['post', 'pre'][i],
      begin: begins[i],
      end: ends[i],
      duration: ends[i] - begins[i],
      piece: i,
      method: METHODS[method],
    }).problem);
    return { ...plan, problem: { method, d: given.d, parts: true, pieces } };
  }

  /** A model, or one of several one after the other, as a plan and a problem. */
  lowered(given) {
    const { d, T, tol, norm, now = norm, mask, reach, encoding, seed } = given;
    const { implicit, method = implicit && isCausal(given) ? METHODS.implicit : NONE } = given;
    const { begin = 0, end = T, duration = T, piece = 0 } = given;
    const columns = LENGTHS.includes(norm) ? d + 1 : d;
    const states = new Float64Array(given.n * columns); // ln r = 0
    for (let k = 0; k < given.n; k += 1) {
      states.set(given.start.subarray(k * d, (k + 1) * d), k * columns);
    }
    const causal = isCausal(given);
    const slope = encoding === 'alibi' ? given.slope : 0;
    const heat = given.noise > this.texts.still ? given.noise : 0;
    const { heads, rank, mlp, gain, sample } = given;
    const width = gain === 0 ? 0 : mlp;
    const numbers = [
      given.beta, T, begin, duration, tol, this.texts.norms[norm], Number(causal), slope,
      encoding === 'rope' ? this.texts.base : 0, heat, seed, piece, method, Number(norm === 'post'),
    ];
    const found = this.asked('lower', [
      [states, given.n, columns],
      [[...given.V, ...given.Q, ...given.K], 3, d, d],
      [[heads, rank, width, gain, sample], 5],
      [numbers, numbers.length],
    ], [], ...RANKS);
    const [tokens, queries, keys, reaches, values, outputs, own, slopes, turns, inner, outer] = found;
    const [, , , , , , , , , , , query, value, basis, spin, shown, total, facts] = found;
    const [verdict, leading, floor, stretch, rotates, attracts, drifts, late, origin, until] = facts;
    const [rate, sharpness, radius, phase, steps, scale, root, step, low, high, longest] = facts.subarray(10);
    const [byRule, reason] = this.texts.verdicts[verdict];
    const wide = (array) => ({ shape: [array.length / d, d], values: array });
    const tall = (array) => ({ shape: [d, array.length / d], values: array });
    const line = (array) => ({ shape: [array.length], values: array });
    const one = (array) => ({ shape: [1, 1], values: array });
    const m = shown.length / (2 * heads * d);
    const half = shown.length / 2;
    const rows = (h, first) => split(shown.subarray(first + h * m * d, first + (h + 1) * m * d), d);
    const chosen = Object.keys(METHODS).find((name) => METHODS[name] === method) ?? byRule;
    return {
      plan: {
        method: chosen,
        reason,
        engine: this.texts.engine,
        sums: 'direct',
        columns,
        rate,
        sharpness,
        radius,
        product: heads > 1 || encoding !== 'none' ? null : given.product,
        generator: width > 0 ? null : total,
        heads: Array.from({ length: heads }, (_, h) => ({
          query: rows(h, 0),
          key: rows(h, half),
          frequencies: [...turns.subarray(0, turns.length / heads)],
          slope,
        })),
        frame: {
          basis, spin, leading, rotates: Boolean(rotates), attracts: Boolean(attracts), drifts: Boolean(drifts),
        },
        phase_known_until: phase,
        steps: chosen === 'implicit' ? 0 : steps,
        longest,
      },
      problem: {
        method: chosen,
        d,
        columns,
        tokens,
        tol,
        times: [late, begin, end],
        t_end: until,
        ...(heat > 0 ? {
          noise: { scale, common: false, root, key: [low, high], wanted: [duration], step },
        } : null),
        field: {
          queries: wide(queries),
          keys: wide(keys),
          reach: line(reaches),
          values: wide(values),
          outputs: tall(outputs),
          own_value: wide(own),
          leading,
          slopes: line(slopes),
          turns: { shape: [heads, turns.length / heads], values: turns },
          inner: wide(inner),
          inner_bias: line(new Float64Array(width)),
          outer: tall(outer),
          outer_bias: line(new Float64Array(d)),
          activation: 0,
          norm: this.texts.norms[now === 'mix' ? 'post' : now],
          alpha: 1,
          window: mask === 'window' ? reach : null,
          prefix: mask === 'full' ? null : (mask === 'prefix' ? reach : 0),
          causal: Number(causal),
          origin,
          now: line(Float64Array.of(origin)),
          query: one(query),
          value: one(value),
          accuracy: 0,
          floor,
          stretch,
        },
      },
    };
  }

  /** What the clock of a model shows at first. */
  first(start, duration, { drifts }) {
    return this.call('first', 'Float64', start, duration, Number(drifts));
  }
}
