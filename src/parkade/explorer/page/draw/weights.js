// Attention weights: the mean over the heads of the share of each token in the sum that moves token k.

/** Whether token k attends to token j, by the name of a mask; null if it is not known. */
export function sight(mask) {
  const [, kind, number] = /^(causal|full|window|prefix)(?:\((\d+)\))?$/.exec(mask ?? '') ?? [];
  const count = Number(number);
  if (kind === 'full') return () => true;
  if (kind === 'causal') return (k, j) => j <= k;
  if (kind === 'window' && number) return (k, j) => j <= k && j > k - count;
  if (kind === 'prefix' && number) return (k, j) => j <= k || (k < count && j < count);
  return null;
}

/** A matrix times the vector of d entries at `start`. */
function times(matrix, vector, start) {
  return matrix.map((row) => row.reduce((sum, entry, i) => sum + entry * vector[start + i], 0));
}

/** Turn the planes (0, 1), (2, 3), … of a query or key by its place in the sequence. */
function turn(vector, frequencies, place) {
  frequencies.forEach((frequency, i) => {
    const [cos, sin] = [Math.cos(place * frequency), Math.sin(place * frequency)];
    const [a, b] = [vector[2 * i], vector[2 * i + 1]];
    vector[2 * i] = cos * a - sin * b;
    vector[2 * i + 1] = sin * a + cos * b;
  });
  return vector;
}

export class Weights {
  constructor({ n, d, A, heads, mask, frozenSet, points, betas, frameOf }) {
    Object.assign(this, { n, d, frozenSet, points, betas, frameOf });
    this.sees = sight(mask);
    // One head may be described by its scores ⟨A x_k, x_j⟩.
    this.heads = heads ?? (A ? [{ query: A, key: null, frequencies: [], slope: 0 }] : []);
    this.tokens = null; // those of which the keys are known
  }

  get known() { return this.sees !== null && this.heads.length > 0; }

  /** The keys of all tokens and of the frozen points, of each head. */
  prepare(tokens) {
    const { n, d } = this;
    this.tokens = tokens;
    this.keys = this.heads.map(({ key, frequencies }) => Array.from({ length: n }, (_, j) => (
      key ? turn(times(key, tokens, j * d), frequencies, j) : tokens.subarray(j * d, (j + 1) * d)
    )));
    this.outside = this.heads.map(({ key }) => this.points.map(({ place }) => (key ? times(key, place, 0) : place)));
  }

  /** The weights of row k among `tokens`, into `row`. All attend to a frozen token, which attends to none. */
  row(tokens, k, row) {
    const { n, d, heads, frozenSet } = this;
    row.fill(0);
    if (frozenSet.has(k)) return row;
    if (tokens !== this.tokens) this.prepare(tokens);
    const scores = new Float64Array(n);
    // Where β changes with time, A and the heads are those of β = 1.
    const beta = this.betas ? this.betas[this.frameOf.get(tokens) ?? 0] : 1;
    heads.forEach(({ query, frequencies, slope }, h) => {
      const asked = turn(times(query, tokens, k * d), frequencies, k);
      const score = (key) => { let sum = 0; for (let i = 0; i < asked.length; i++) sum += asked[i] * key[i]; return beta * sum; };
      const others = this.outside[h].map(score);
      let top = Math.max(-Infinity, ...others);
      for (let j = 0; j < n; j++) {
        const seen = this.sees(k, j) || frozenSet.has(j);
        scores[j] = seen ? score(this.keys[h][j]) - slope * Math.abs(k - j) : -Infinity;
        if (scores[j] > top) top = scores[j];
      }
      let sum = 0;
      others.forEach((value, i) => { sum += this.points[i].weight * Math.exp(value - top); });
      for (let j = 0; j < n; j++) {
        scores[j] = Math.exp(scores[j] - top);
        sum += scores[j];
      }
      for (let j = 0; j < n; j++) row[j] += scores[j] / (sum * heads.length);
    });
    return row;
  }
}
