// Merges and plateaus as CSV, with the columns of `parkade timeline --csv`. Tokens are counted from 0,
// as in the arrays of the run.

const table = (columns, rows) => `${[columns, ...rows].map((row) => row.join(',')).join('\n')}\n`;

export const TABLES = {
  merges: ({ merges }) => table(
    ['time', 'absorbed', 'into', 'size'], merges.map(({ t, absorbed, into, size }) => [t, absorbed, into, size]),
  ),
  plateaus: ({ plateaus }) => table(
    ['start', 'end', 'clusters', 'lifetime'], plateaus.map(({ start, end, clusters, lifetime }) => [start, end, clusters, lifetime]),
  ),
};
