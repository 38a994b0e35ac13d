// The steps of the tour. Each names a recorded scene, and perhaps one beside it, the times it plays between, what it shows, and says
// what is seen; its numbers are those of the scene.

import { inWords } from '../panels/story.js';
import { short } from '../format.js';

const clusters = (count) => inWords(count, 'cluster');
const gathered = ({ plateaus }) => plateaus[0];
const lastMerge = ({ arrivals }) => arrivals[arrivals.length - 1];

export const STEPS = [
  {
    title: 'Tokens',
    scene: 'life', from: 0, to: 0, color: 'position', show: [],
    text: ({ n }) => [
      `Each dot is a token: a unit vector, here a point of the circle. There are ${n}, which start anywhere. Colours tell their order in the sequence, and the star is the first.`,
      'Time t is depth in a transformer. At each moment, every token moves towards the tokens it attends to.',
    ],
  },
  {
    title: 'They park',
    scene: 'life', from: 0, to: 0, color: 'position', show: ['renyi', 'strong', 'caps'],
    text: ({ renyi, strong, delta }) => [
      'A token attends only to tokens before it, and mostly to close ones. So who will lead? The start tells, as with cars that park along a road: a token finds a place of its own if no earlier leader is within the angle δ.',
      `Here δ = ${short(delta)}, and ${inWords(renyi.size, 'token')} park: the Rényi centres, with a ring and an arc of δ to both sides. Those in red are strong: no token at all before them is within δ. There are ${inWords(strong.size)}.`,
    ],
  },
  {
    title: 'They gather, and wait',
    scene: 'life', from: 0, to: 25, color: 'cluster', show: ['trails', 'renyi', 'strong', 'names', 'notes'],
    text: (scene) => [
      `By t = ${short(gathered(scene).start)} the tokens have gathered in ${clusters(gathered(scene).clusters)}. Each is named by its earliest token, which leads it; most leaders are centres.`,
      'This looks like the end, but it is metastable: the clusters still attract each other, too weakly to be seen. Inside the circle is the past, on the scale of log t.',
    ],
  },
  {
    title: 'They merge',
    scene: 'life', from: 25, to: 1e16, color: 'cluster', show: ['trails', 'names', 'notes', 'forecast'],
    text: (scene) => [
      'Over an angle φ the pull is smaller by the factor exp(−β(1 − cos φ)). So each wait lasts longer than the one before, by powers of ten. The later of two leaders moves, and joins the earlier.',
      `The dashed line is a forecast from the start alone. It is right about ${scene.forecast.right} of ${scene.forecast.seen} partners after t = ${short(scene.forecast.since)}.`,
    ],
  },
  {
    title: 'One is left, the first',
    scene: 'life', from: 1e16, to: Infinity, color: 'cluster', show: ['trails', 'names', 'notes', 'forecast'],
    text: (scene) => [
      `At t = ${short(lastMerge(scene), 2)} the last two clusters meet. All tokens are now where the first one started: it attends to itself only, and has not moved.`,
      'For V = I, Theorem 4.1 of the paper says so for almost every start.',
    ],
  },
  {
    title: 'What V changes',
    scene: 'values', beside: 'life', names: ['V = diag(1, ½)', 'V = I'], from: 0, to: Infinity, color: 'cluster', show: ['trails', 'names', 'notes'],
    text: (scene) => [
      `The same start, with V = diag(1, ½): the first direction leads, and tokens go to its two ends, left and right. By t = ${short(gathered(scene).start)} there are ${clusters(gathered(scene).clusters)}, and they stay. The paper conjectures this for any V with one leading direction.`,
      'Where V has several equal directions that lead, as V = I has, tokens fall into them and go on to one point.',
    ],
  },
  {
    title: 'What β changes',
    scene: 'sharpness', beside: 'life', names: ['β = 16', 'β = 64'], from: 0, to: Infinity, color: 'cluster', show: ['trails', 'renyi', 'strong', 'caps', 'names', 'notes'],
    text: (scene) => [
      `The same start, with β = ${short(scene.beta)} in place of 64. Each token sees farther: δ = ${short(scene.delta)}. Only ${clusters(gathered(scene).clusters)} form, and at t = ${short(lastMerge(scene), 2)} one is left.`,
      'Times of merges grow exponentially with β: that is why the larger β took 10⁴⁸. Now change anything yourself.',
    ],
  },
];
