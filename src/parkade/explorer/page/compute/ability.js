// What a browser must have to compute: WebAssembly with vectors, and Workers.

// A module with one function that makes a vector of 128 bits.
const VECTORS = [
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11,
];

/** Why this browser cannot compute, as a sentence; null if it can. */
export function lacking() {
  const needs = [
    [typeof WebAssembly === 'object', 'WebAssembly'],
    [typeof WebAssembly === 'object' && WebAssembly.validate(new Uint8Array(VECTORS)), 'the vectors of WebAssembly (SIMD)'],
    [typeof Worker === 'function', 'Workers'],
  ];
  const [, what] = needs.find(([there]) => !there) ?? [];
  return what ? `This browser does not have ${what}, so the page plays a recorded run; a newer browser computes others.` : null;
}
