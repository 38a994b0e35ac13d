// Plans for what the page offers beyond one plain head: several heads, MLP, norms, positions, windows
// and prefixes, noise, and a β that grows. The module: packaging/wasm/fieldplan.py.

import { Failure } from './slots.js';
import { Planner } from './planner.js';

const RANKS = [2, 2, 2, 1, 2, 2, 2, 1, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1];

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
  constructor(module, shared, plain) {
    super(module, shared);
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
    const request = { ...wanted, V, Q, K, start, product };
    return { ...base, ...(schedule ? this.scheduled(request, schedule) : this.transformer(request)) };
  }

  /** The plan with direct sums instead of harmonic ones. */
  direct(plan) { return plan.again ? plan.again() : this.plain.direct(plan); }

  /** Another plan for a run whose explicit steps are too short; null if there is none. */
  instead(plan, wanted) {
    const other = super.instead(plan, wanted);
    return other && !other.frame.rotates ? { ...other, reason: this.shared.plan.instead } : null;
  }

  /** Whether a model is more than one plain head. */
  hasParts(wanted) {
    return Object.entries(this.shared.parts).some(([name, plain]) => name !== 'growth' && !plain.includes(wanted[name]));
  }

  /** When the pieces of a growing β begin and end, how long they last, and β in each. */
  schedule({ beta, growth, T }) {
    const [starts, ends, durations, betas] = this.arraysOf('schedule', [], [beta, growth, T], 1, 1, 1, 1);
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
      const { V, Q, K } = base;
      const plan = this.plain.chosen({ ...wanted, V, Q, K, ...more }, free.slice(), still.slice());
      return direct ? this.plain.direct(plan) : plan;
    };
    const drafts = [betas[0], betas.at(-1)].map((beta) => choose({ beta }));
    const implicit = drafts.some(({ method }) => method === 'implicit');
    const { method, reason, frame, effort } = drafts.find((one) => !implicit || one.method === 'implicit');
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
      effort: { ...effort, turning: 0 },
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
  scheduled(request, { starts, ends, durations, betas }) {
    const piece = (i, method) => this.lowered({
      ...request, beta: betas[i], begin: starts[i], end: ends[i], duration: durations[i], piece: i, method,
    });
    const { plan } = this.lowered(request);
    const method = this.shared.methods.indexOf(plan.method);
    const last = piece(betas.length - 1, method);
    const pieces = each(betas.length, (i) => piece(i, method).problem);
    return {
      ...plan,
      frame: last.plan.frame,
      radius: last.plan.radius,
      heads: this.lowered({ ...request, beta: 1 }).plan.heads,
      schedule: { starts, betas },
      problem: { method: plan.method, d: request.d, parts: true, pieces },
    };
  }

  /** A transformer; two of them one after the other, if its norm changes. */
  transformer(request) {
    const { plan, problem } = this.lowered(request);
    const { mix_time: until } = this.shared.plan;
    if (request.norm !== 'mix' || request.T <= until) return { ...plan, problem };
    const { method } = plan;
    const [begins, ends] = [[0, until], [until, request.T]];
    const pieces = each(2, (i) => this.lowered({
      ...request,
      now: ['post', 'pre'][i],
      begin: begins[i],
      end: ends[i],
      duration: ends[i] - begins[i],
      piece: i,
      method: this.shared.methods.indexOf(method),
    }).problem);
    return { ...plan, problem: { method, d: request.d, parts: true, pieces } };
  }

  /** A model, or one of several one after the other, as a plan and a problem. */
  lowered(request) {
    const { d, T, tol, norm, now = norm, mask, reach, encoding, seed } = request;
    const { methods, plan: { any_method: any, ...rules } } = this.shared;
    const causal = isCausal(request);
    const { implicit, method = implicit && causal ? methods.indexOf('implicit') : any } = request;
    const { begin = 0, end = T, duration = T, piece = 0 } = request;
    const columns = rules.lengths.includes(norm) ? d + 1 : d;
    const states = new Float64Array(request.n * columns); // ln r = 0
    for (let k = 0; k < request.n; k += 1) {
      states.set(request.start.subarray(k * d, (k + 1) * d), k * columns);
    }
    const slope = encoding === 'alibi' ? request.slope : 0;
    const { heads, rank, mlp: width, gain, sample, noise: heat } = request;
    const numbers = [
      request.beta, T, begin, duration, tol, rules.norms[norm], Number(causal), slope,
      encoding === 'rope' ? rules.rope_base : 0, heat, seed, piece, method, Number(norm === 'post'),
      mask === 'window' ? reach : Infinity,
    ];
    const results = this.arraysOf('lower', [
      [states, request.n, columns],
      [[...request.V, ...request.Q, ...request.K], 3, d, d],
      [[heads, rank, width, gain, sample], 5],
      [numbers, numbers.length],
    ], [], ...RANKS);
    const [tokens, queries, keys, reaches, values, outputs, own, slopes, turns, inner, outer] = results;
    const [, , , , , , , , , , , query, value, basis, spin, shown, total, facts] = results;
    const [verdict, leading, floor, stretch, rotates, attracts, drifts, late, origin, until] = facts;
    const [rate, sharpness, radius, phase, steps, scale, root, step, low, high, longest, seconds] = facts.subarray(10);
    const [byRule, reason] = rules.verdicts[verdict];
    const wide = (array) => ({ shape: [array.length / d, d], values: array });
    const tall = (array) => ({ shape: [d, array.length / d], values: array });
    const line = (array) => ({ shape: [array.length], values: array });
    const one = (array) => ({ shape: [1, 1], values: array });
    const m = shown.length / (2 * heads * d);
    const half = shown.length / 2;
    const rows = (h, first) => split(shown.subarray(first + h * m * d, first + (h + 1) * m * d), d);
    const chosen = methods[method] ?? byRule;
    return {
      plan: {
        method: chosen,
        reason,
        engine: rules.engine,
        sums: 'direct',
        columns,
        rate,
        sharpness,
        radius,
        product: heads > 1 || encoding !== 'none' ? null : request.product,
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
        effort: { seconds, fewest: heat > 0 ? steps : 0 },
      },
      problem: {
        method: chosen,
        d,
        columns,
        tokens,
        tol,
        times: [late, begin, end],
        t_end: until,
        rests: Boolean(attracts),
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
          norm: rules.norms[now === 'mix' ? 'post' : now],
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
          followers: { shape: [0, 0, 0], values: new Float64Array(0) },
        },
      },
    };
  }

  /** What the clock of a model shows at first. */
  first(start, duration, { drifts }) {
    return this.call('first', 'Float64', start, duration, Number(drifts));
  }
}
