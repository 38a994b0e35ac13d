// Detects runs that never settle, as solve/planning/pace.py does and by its numbers: such a run ends early, with a sentence.

import { filled, general } from './python.js';

export class Pace {
  /**
   * `effort` is what a run takes: the `seconds` of a step, the `fewest` steps, and the rate at which
   * tokens are certain to be `turning` forever. `rules` are the numbers of solve/planning/pace.py.
   */
  constructor(method, end, tol, { seconds, fewest = 0, turning = 0 }, rules) {
    Object.assign(this, { end, seconds, fewest, rules });
    const strict = (1e-6 / tol) ** 0.25;
    const [few, fewer] = rules.few[method].map((count) => count * Math.max(1, strict));
    this.few = Math.max(rules.seconds / seconds, fewer, Math.min(few, rules.slow / seconds));
    this.many = Math.max(rules.many, rules.long / seconds);
    this.every = Math.max(1, Math.floor(Math.min(rules.every, rules.look / seconds)));
    if (turning * end * strict > (rules.angle[method] ?? Infinity) * this.many) {
      this.few = Math.min(this.few, Math.max(rules.seconds / seconds, rules.fewest));
    }
    this.begin(0, [0, end]);
  }

  /** Judge anew from here, after `steps` steps: another model moves the tokens. */
  begin(steps, [start, until]) {
    Object.assign(this, { before: steps, start, until, looks: 0, marks: [], half: 0 });
  }

  /** The number of steps to take before the next look: it is after the same ones always. */
  room(steps) { return this.every - ((steps - this.before) % this.every); }

  /** Why the run should stop after `steps` steps at time `t`; empty if it should not. */
  judge(steps, t) {
    if (t >= this.end) return '';
    const least = this.fewest * (1 - t / this.end);
    if (least > this.many) return this.sentence(steps, t, this.end, least);
    const looks = Math.floor((steps - this.before) / this.every);
    if (t >= this.until || looks === this.looks) return '';
    this.looks = looks;
    return this.extrapolate(steps - this.before, t - this.start);
  }

  /** Whether the model that moves the tokens is stuck: its own steps, and its own time. */
  extrapolate(steps, t) {
    this.marks.push([steps, t]);
    if (steps < this.few) return '';
    while (this.half + 1 < this.marks.length && 2 * this.marks[this.half + 1][0] <= steps) this.half += 1;
    const [before, since] = this.marks[this.half];
    const left = this.left(before, since, steps, t, this.until - this.start);
    if (left < this.many) return '';
    return this.sentence(this.before + steps, this.start + t, this.until, left);
  }

  /** The estimated number of remaining steps, from those between time `since` and t. */
  left(before, since, steps, t, end) {
    const grown = t > since && since > 0 ? Math.log(t / since) : 0;
    const ahead = Math.log(end / t);
    if (grown >= Math.log(this.rules.steady)) return ((steps - before) * ahead) / grown; // steps per decade
    if (grown === 0) return Infinity;
    // Time grows like a power of the number of steps, usually the first power.
    return steps * Math.expm1((ahead * Math.log(steps / Math.max(before, 1))) / grown);
  }

  sentence(steps, t, until, left) {
    return filled(this.rules.too_slow, {
      until: general(until), steps, t: general(t, 3), left: about(left), duration: duration(left * this.seconds),
    });
  }
}

const about = (count) => (count > 1e99 ? 'infinitely many' : `about ${general(count, 1).replace(/e\+0?/, 'e')}`);

function duration(seconds) {
  const [unit, size] = [['years', 3.15e7], ['days', 86400], ['hours', 3600]].find(([, length]) => seconds >= 2 * length) ?? ['minutes', 60];
  const count = seconds / size;
  return count < 1e6 ? `about ${count.toFixed(0)} ${unit}` : `more than a million ${unit}`;
}
