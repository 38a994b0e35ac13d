// Colours. Those of clusters are Okabe and Ito's, which differ in every kind of colour vision.

// Vermillion is the last one, since it marks the strong centres.
const LEADERS = ['#0072B2', '#009E73', '#CC79A7', '#E69F00', '#56B4E9', '#7A5C3E', '#D55E00'];
const DARK_LEADERS = ['#3D9BDC', '#1DBF92', '#DD94BC', '#F2B53A', '#8ACDF3', '#B08E6A', '#F07F2E'];

// Viridis, without its palest end on white and without its darkest end on black.
const SEQUENCE = ['#440154', '#472D7B', '#3B528B', '#2C728E', '#21918C', '#28AE80', '#5EC962', '#ADDC30'];
const DARK_SEQUENCE = ['#6F5CB8', '#5272C4', '#3C8FC4', '#2CA6A4', '#28B98A', '#5EC962', '#ADDC30', '#FDE725'];

const parsed = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
const written = (rgb) => `#${rgb.map((c) => Math.round(c).toString(16).padStart(2, '0')).join('')}`;

export function mixed(a, b, share) {
  const [from, to] = [parsed(a), parsed(b)];
  return written(from.map((c, i) => c + share * (to[i] - c)));
}

/** The colours of the page, read from its style sheet, where they are defined. */
export function themeColors(dark) {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(`--${name}`).trim();
  const names = ['paper', 'panel', 'ink', 'soft', 'faint', 'line', 'accent', 'strong', 'good', 'forecast', 'ball', 'rim'];
  return { dark, ...Object.fromEntries(names.map((name) => [name, read(name)])) };
}

function along(stops, x) {
  const place = Math.min(Math.max(x, 0), 1) * (stops.length - 1);
  const i = Math.min(Math.floor(place), stops.length - 2);
  return mixed(stops[i], stops[i + 1], place - i);
}

export function sequenceColor(k, n, theme) {
  return along(theme.dark ? DARK_SEQUENCE : SEQUENCE, n > 1 ? k / (n - 1) : 0);
}

/**
 * A colour for each leader: ink for the first token, then by how long they lead. Tokens that lead
 * only while clusters form get none, so that the colours appear with the clusters.
 */
export function clusterColors(scene, theme) {
  const { n, labels, count, moments } = scene;
  const colors = new Array(n).fill(null);
  const list = theme.dark ? DARK_LEADERS : LEADERS;
  // How long each token leads others, on the time line; leaders at the end count in any case.
  const leadTimes = new Float64Array(n);
  for (let f = scene.formed; f < count; f++) {
    const length = f === count - 1 ? 1e-6 : moments[f + 1] - moments[f];
    const sizes = new Uint16Array(n);
    for (let k = 0; k < n; k++) sizes[labels[f * n + k]]++;
    for (let k = 1; k < n; k++) if (sizes[k] > 1 || (sizes[k] && scene.clusters[f] <= 12)) leadTimes[k] += length;
  }
  // During a merge, followers that lag behind form short-lived groups, which get no colour.
  const last = (count - 1) * n;
  const order = [...leadTimes.keys()].filter((k) => leadTimes[k] > 0.004 || (leadTimes[k] > 0 && labels[last + k] === k));
  order.sort((a, b) => leadTimes[b] - leadTimes[a] || a - b);
  order.forEach((leader, rank) => {
    const color = list[rank % list.length];
    const round = Math.floor(rank / list.length);
    colors[leader] = round === 0 ? color : mixed(color, round % 2 ? theme.ink : theme.paper, 0.4);
  });
  colors[0] = theme.ink;
  return colors;
}

/** From the panel's colour through the accent to ink, as 256 triples for images. */
export function heatTable(theme) {
  const stops = theme.dark
    ? [theme.panel, '#12405E', '#2A83B8', '#8ACDF3', '#F4F9FC']
    : [theme.panel, '#CFE3F0', '#64A8D1', '#0072B2', '#06283F'];
  return Array.from({ length: 256 }, (_, i) => parsed(along(stops, i / 255)));
}
