"use strict";
// The heads of a model as small pictures: lines with the words at their ends, planes as wheels.
const data = JSON.parse(document.getElementById("data").textContent);
const on = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

const NAMES = {
  writes: "what it writes",
  reads: "what it reads",
  negative: "its most negative end",
  "singular writes": "singular: writes",
  "singular reads": "singular: reads",
};
for (const [value, text] of Object.entries(NAMES)) on("axis").add(new Option(text, value));

function element(name, text, cls) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (cls) made.className = cls;
  return made;
}

function drawn(parent, name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

const axisOf = (head) => head.axes.find((one) => one.axis === on("axis").value);
const wordsOf = (axis) => [...axis.plus, ...axis.minus, ...axis.wheel].map(([word]) => word);
const complex = ([re, im]) =>
  Math.abs(im) <= 1e-9 * Math.hypot(re, im)
    ? re.toFixed(2)
    : `${re.toFixed(2)}${im < 0 ? "−" : "+"}${Math.abs(im).toFixed(2)}i`;

function side(words, sign, cls, most, wanted) {
  const list = element("ol", undefined, cls);
  list.append(element("li", sign, "sign"));
  list.firstChild.style.setProperty("--size", "0");
  for (const [word, cosine] of words) {
    const item = element("li", word, wanted(word) ? "hit" : "");
    item.style.setProperty("--size", `${(100 * Math.abs(cosine)) / most}%`);
    item.title = `${word}: cosine ${cosine.toFixed(2)}`;
    list.append(item);
  }
  return list;
}

function line(axis, wanted) {
  const ends = element("div", undefined, "ends");
  const most = Math.max(...[...axis.plus, ...axis.minus].map(([, cosine]) => Math.abs(cosine)));
  ends.append(side(axis.minus, "−", "minus", most, wanted), side(axis.plus, "+", "plus", most, wanted));
  return ends;
}

// Labels of a side of the wheel are moved apart, so that none lies on another.
function apart(labels, top, bottom) {
  labels.sort((a, b) => a.y - b.y);
  const least = Math.min(11, (bottom - top) / Math.max(1, labels.length - 1));
  let last = top - least;
  for (const one of labels) last = one.y = Math.max(one.y, last + least);
  let next = bottom + least;
  for (const one of labels.toReversed()) next = one.y = Math.min(one.y, next - least);
}

function wheel(axis, wanted) {
  const picture = document.createElementNS(SVG, "svg");
  picture.setAttribute("viewBox", "-130 -100 260 200");
  picture.setAttribute("role", "img");
  picture.setAttribute("aria-label", `words by angle: ${wordsOf(axis).join(", ")}`);
  const R = 62;
  drawn(picture, "circle", { r: R, class: "rim" });
  drawn(picture, "circle", { r: 1.5, class: "dot" });
  const most = Math.max(...axis.wheel.map(([, , radius]) => radius));
  const labels = axis.wheel.map(([word, angle, radius]) => {
    const [x, y] = [Math.cos(angle), -Math.sin(angle)];
    const r = (R * radius) / most;
    return { word, x, px: r * x, py: r * y, y: 78 * y, right: x >= 0 };
  });
  for (const right of [true, false]) {
    apart(labels.filter((one) => one.right === right), -92, 92);
  }
  for (const one of labels) {
    const end = one.right ? 72 : -72;
    drawn(picture, "line", { x1: 0, y1: 0, x2: one.px, y2: one.py, class: "spoke" });
    drawn(picture, "line", { x1: one.px, y1: one.py, x2: end, y2: one.y, class: "rim" });
    drawn(picture, "circle", { cx: one.px, cy: one.py, r: 2, class: "dot" });
    const short = one.word.length > 10 ? `${one.word.slice(0, 9)}…` : one.word;
    drawn(picture, "text", {
      x: end + (one.right ? 2 : -2), y: one.y + 3, "text-anchor": one.right ? "start" : "end",
      class: wanted(one.word) ? "hit" : "",
    }, short);
  }
  return picture;
}

function card(head, wanted) {
  const axis = axisOf(head);
  const made = element("article");
  const title = element("h2", head.name);
  const last = axis.axis === "negative";
  title.append(element("span", `λ = ${complex(last ? head.last : head.eigenvalue)}`, "soft"));
  made.append(title);
  const own = head.head < 0 ? "" : `, own p ${axis.own_p.toPrecision(1)}`;
  made.append(element("p", `kurtosis ${axis.kurtosis.toFixed(1)}${own}, copies ` +
    `${head.copying.toFixed(2)}`, "soft"));
  if (axis.wheel.length) made.append(wheel(axis, wanted));
  else if (axis.plus.length) made.append(line(axis, wanted));
  else made.append(element("p", "no words: like a random direction", "soft"));
  return made;
}

const SHOWN = {
  named: (head, axis) => head.head >= 0 && wordsOf(axis).length > 0,
  lines: (head, axis) => head.head >= 0 && axis.plus.length > 0,
  wheels: (head, axis) => head.head >= 0 && axis.wheel.length > 0,
  sums: (head) => head.head < 0,
  all: () => true,
};
const ORDER = {
  kurtosis: (a, b) => axisOf(b).kurtosis - axisOf(a).kurtosis,
  layer: (a, b) => a.layer - b.layer || a.head - b.head,
  eigenvalue: (a, b) => b.eigenvalue[0] - a.eigenvalue[0],
  copying: (a, b) => b.copying - a.copying,
};

function show() {
  const wish = on("find").value.trim().toLowerCase();
  const wanted = (word) => wish !== "" && word.toLowerCase().includes(wish);
  const matches = (head) =>
    wish === "" || head.name.toLowerCase().startsWith(wish) || wordsOf(axisOf(head)).some(wanted);
  const chosen = data.heads
    .filter((head) => SHOWN[on("show").value](head, axisOf(head)) && matches(head))
    .sort(ORDER[on("sort").value]);
  on("heads").replaceChildren(...chosen.map((head) => card(head, wanted)));
  on("count").textContent = `${chosen.length} of ${data.heads.length}`;
}

on("controls").addEventListener("input", show);
on("controls").addEventListener("submit", (event) => event.preventDefault());
show();
