// Detects runs that never settle, as solve/planning/pace.py does: such a run ends with a sentence, early.

import { general } from './python.js';

const SECONDS = 2; // of steps: no run is stopped before
const SLOW = 20; // seconds of steps after which fewer of them are enough to judge
// Steps before a run is judged, at tol = 1e-6: normally, and if it is slow.
const FEW = { explicit: [2000, 1000], implicit: [30000, 4000], splitting: [2000, 1000] };
const MANY = 1e6; // a run that needs fewer steps is not stopped
const LONG = 60; // a run that needs fewer seconds is not stopped
const STEADY = 4; // a run whose time grows by this factor while its steps double is not stuck
const EVERY = 256; // steps between two looks

/** About the seconds of a step of n tokens, with direct sums: the same on every machine. */
export const stepSeconds = (method, n, d) => (4e-6 + 6 * 1.75e-10 * n * n * (d + 8)) * (method === 'implicit' ? 2.8 : 1);

export class Pace {
  /** A step takes about so many `seconds`. */
  constructor(method, end, tol, seconds) {
    Object.assign(this, { end, seconds, marks: [], half: 0, looks: 0 });
    const [few, fewer] = FEW[method].map((count) => count * Math.max(1, (1e-6 / tol) ** 0.25));
    this.few = Math.max(SECONDS / seconds, fewer, Math.min(few, SLOW / seconds));
    this.many = Math.max(MANY, LONG / seconds);
  }

  /** Why the run should stop after `steps` steps at time `t`; empty if it should not. */
  judge(steps, t) {
    const looks = Math.floor(steps / EVERY);
    if (t >= this.end || looks === this.looks) return '';
    this.looks = looks;
    this.marks.push([steps, t]);
    if (steps < this.few) return '';
    while (this.half + 1 < this.marks.length && 2 * this.marks[this.half + 1][0] <= steps) this.half += 1;
    const [before, since] = this.marks[this.half];
    const left = stepsLeft(before, since, steps, t, this.end);
    if (left < this.many) return '';
    return `the run is too slow to reach t=${general(this.end)}: after ${steps} steps it is at t=${general(t, 3)}, `
      + `and the rest would take ${about(left)} steps, ${duration(left * this.seconds)}; the tokens may never come to rest, so use a smaller T`;
  }
}

/** The estimated number of remaining steps, from those between time `since` and t. */
function stepsLeft(before, since, steps, t, end) {
  const grown = t > since && since > 0 ? Math.log(t / since) : 0;
  const ahead = Math.log(end / t);
  if (grown >= Math.log(STEADY)) return ((steps - before) * ahead) / grown; // steps per decade
  if (grown === 0) return Infinity;
  // Time grows like a power of the number of steps, usually the first power.
  return steps * Math.expm1((ahead * Math.log(steps / Math.max(before, 1))) / grown);
}

const about = (count) => (count > 1e99 ? 'infinitely many' : `about ${count.toExponential(0).replace('e+', 'e')}`);

function duration(seconds) {
  const [unit, size] = [['years', 3.15e7], ['days', 86400], ['hours', 3600]].find(([, length]) => seconds >= 2 * length) ?? ['minutes', 60];
  const count = seconds / size;
  return count < 1e6 ? `about ${count.toFixed(0)} ${unit}` : `more than a million ${unit}`;
}
