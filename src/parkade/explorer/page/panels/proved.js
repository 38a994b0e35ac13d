// What is proved of a run, in words.

import { counted, short } from '../format.js';

/** What the bars and the bands on the time line say. */
export function provedSentence({ events, until, why }) {
  const merges = events.reduce((sum, event) => sum + event.merges.length, 0);
  const what = merges ? `proved: the counts of the bars; ${counted(merges, 'merge')} within the bands` : 'proved: the counts of the bars';
  return why ? `${what}; nothing after t = ${short(until)}` : what;
}
