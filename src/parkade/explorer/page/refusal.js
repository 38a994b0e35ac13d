// What is not computed, and why.

import { typeset } from './format.js';

/** The sentence of a refusal. Any other error is thrown again. */
export function sentenceOf(error) {
  if (!(error instanceof Refusal)) throw error;
  return error.message;
}

/** A run that was refused or stopped: a sentence for each setting concerned, or one for none. */
export class Refusal extends Error {
  constructor({ error, field = null, others = [] }, lost = false) {
    super(typeset(error));
    this.wrong = [{ error, field }, ...others].map((one) => ({ ...one, error: typeset(one.error) }));
    this.lost = lost; // there was no answer at all
  }
}
