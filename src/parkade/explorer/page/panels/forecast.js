// The forecast in words.

import { counted, short } from '../format.js';

/** How many of the merges that were seen had been forecast. */
export function forecastSentence({ right, seen, since }) {
  const what = 'forecast from the start alone';
  return seen ? `${what}: ${right} of ${counted(seen, 'partner')} right after t = ${short(since)}` : what;
}
