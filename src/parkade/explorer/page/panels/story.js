// A run in words: one sentence about all of it, and notes for each moment.

import { byId } from '../dom.js';
import { counted, short } from '../format.js';

const NUMBERS = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve'];
const LINGER = 0.07; // how long on the time line a note about a merge stays

/** A number in words if it is small, with a noun or without one. */
export function inWords(count, noun = '') {
  if (!noun) return NUMBERS[count] ?? String(count);
  return count < NUMBERS.length ? `${NUMBERS[count]} ${noun}${count === 1 ? '' : 's'}` : counted(count, noun);
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);

/** The plateaus on which clusters wait, and the merges since the first of them; null if there are none. */
function history(scene) {
  if (scene.linear || !scene.merges) return null;
  const plateaus = (scene.plateaus ?? []).filter(({ clusters }) => clusters < scene.n);
  if (!plateaus.length) return null;
  const since = plateaus[0].start;
  return { plateaus, merges: scene.merges.filter(({ t }) => t > since).sort((a, b) => a.t - b.t) };
}

/** The whole run in one sentence; null where it has no clusters that wait. */
export function storyOf(scene) {
  const known = history(scene);
  if (!known) return null;
  const { plateaus, merges } = known;
  const [{ clusters }] = plateaus;
  const begins = `${scene.n} tokens gather in ${inWords(clusters, 'cluster')}`;
  if (!merges.length) return `${begins} and stay there.`;
  const left = scene.clustersAt(1);
  const one = scene.mask === 'causal' ? 'only the first token’s is left' : 'one is left';
  const ends = left === 1 ? one : `${inWords(left, 'cluster')} are left`;
  return `${begins}, which merge one by one: at t = ${short(merges[merges.length - 1].t, 2)} ${ends}.`;
}

/** What is to be said at u: { state, merge }, the merge with its tokens and how fresh it is, from 1 to 0. */
export function notesAt(scene, u) {
  const known = history(scene);
  if (!known) return null;
  const { plateaus, merges } = known;
  const t = scene.time(u) * (1 + 1e-9);
  const now = plateaus.findLast(({ start, end }) => start <= t && scene.time(u) <= end);
  const count = capital(inWords(scene.clustersAt(u), 'cluster'));
  const latest = merges.findLast((merge) => merge.t <= t);
  const age = latest ? (u - scene.moment(latest.t)) / LINGER : 1;
  // Between two plateaus only the number is known, and before the first one tokens still gather.
  const lasts = !now ? '' : now.end >= scene.end ? ', to the end' : `, for ${short(now.lifetime, 2)}`;
  const state = t < plateaus[0].start ? 'Tokens gather' : `${count}${lasts}`;
  const merge = age >= 1 ? null : {
    ...latest, fresh: 1 - age, text: `${scene.name(latest.absorbed)} joins ${scene.name(latest.into)} at ${short(latest.t, 2)}`,
  };
  return { state, merge };
}

/** Put the sentence over the picture. */
export function showStory(scene) {
  const sentence = storyOf(scene);
  byId('story-text').textContent = sentence ?? '';
  byId('story').hidden = !sentence;
}
