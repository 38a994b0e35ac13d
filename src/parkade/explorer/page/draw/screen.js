// Draws the scene on the page: at most once for each frame of the screen.

import { byId } from '../dom.js';
import { drawBall } from './ball.js';
import { drawConsumption } from './consumption.js';
import { drawStaircase } from './timechart.js';
import { tokenName } from '../format.js';
import { TokenColors } from './look.js';
import { themeColors } from './palette.js';
import { showMoment } from '../panels/panels.js';
import { talkScale } from '../tour/talk.js';
import { showToken } from '../panels/token.js';

/** The width and height of a canvas on the page, in pixels of the screen. */
function sizeOf({ clientWidth: w, clientHeight: h }) {
  const scale = window.devicePixelRatio || 1;
  return [Math.round(w * scale), Math.round(h * scale)];
}

/** Whether a canvas was drawn in the size that it has on the page. */
function fits(canvas) {
  const [wide, high] = sizeOf(canvas);
  return canvas.width === wide && canvas.height === high;
}

/** A pen for a canvas, in CSS pixels on any screen, or larger ones in a presentation. */
function penFor(id) {
  const canvas = byId(id);
  const { clientWidth: w, clientHeight: h } = canvas;
  const scale = window.devicePixelRatio || 1;
  if (!fits(canvas)) [canvas.width, canvas.height] = sizeOf(canvas);
  const pen = canvas.getContext('2d');
  const larger = talkScale();
  pen.setTransform(scale * larger, 0, 0, scale * larger, 0, 0);
  pen.clearRect(0, 0, w / larger, h / larger);
  return { pen, box: { x: 0, y: 0, w: w / larger, h: h / larger }, larger };
}

export class Screen {
  /** `host` has attention(), the panel, playing(), beside(), many(), and others(), the staircases of other runs. */
  constructor(state, host) {
    this.state = state;
    this.host = host;
    this.waiting = false; // for the next frame
    // A new scene may have texts of another length: then it was drawn in the new sizes at once.
    const sizes = new ResizeObserver(() => {
      const seen = [...document.querySelectorAll('.canvas-box canvas')].filter(({ clientWidth }) => clientWidth > 0);
      if (!seen.every(fits)) this.draw();
    });
    for (const id of ['ball-box', 'attention-box', 'timeline-box']) sizes.observe(byId(id));
  }

  /** Draw with the next frame. */
  draw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      if (this.state.show) this.drawNow();
    });
  }

  drawNow() {
    const { state } = this;
    const { show, view } = state;
    const { scene, colors: { theme } } = show;
    const ball = penFor('ball');
    state.places = drawBall(ball.pen, ball.box, show, view).map((c, i) => (i % 3 === 2 ? c : c * ball.larger));
    if (document.documentElement.dataset.beside) this.host.beside().draw(penFor('ball-beside'));
    const line = penFor('timeline');
    // The law of merges takes the place of the forecast of one run.
    const seen = this.host.many().shown ? { ...view, forecast: false } : view;
    state.plateauNames = drawStaircase(line.pen, line.box, scene, seen, theme, this.host.others());
    if (scene.consumption) {
      const chart = penFor('consumption');
      drawConsumption(chart.pen, chart.box, scene, view, theme);
    }
    if (scene.hasAttention) this.host.attention().draw(penFor('attention'), theme, this.host.playing());
    byId('reset-view').hidden = !view.turn && view.zoom === 1 && !view.pan[0] && !view.pan[1];
    this.showPositionKey();
    showMoment(scene, view, this.host.playing());
    showToken(scene, view);
  }

  /** Whether any token is inside the picture. */
  seesTokens() {
    const { clientWidth: w, clientHeight: h } = byId('ball');
    const { places } = this.state;
    for (let i = 0; i < places.length; i += 3) {
      if (places[i] >= 0 && places[i] <= w && places[i + 1] >= 0 && places[i + 1] <= h) return true;
    }
    return false;
  }

  /** Which colour is early and which is late in the sequence. */
  showPositionKey() {
    const { show, view } = this.state;
    byId('position-key').hidden = view.color !== 'position';
    const { sequence } = show.colors;
    const stops = Array.from({ length: 9 }, (_, i) => sequence[Math.round((i / 8) * (sequence.length - 1))]);
    byId('position-scale').style.background = `linear-gradient(to right, ${stops.join(', ')})`;
    byId('position-last').textContent = tokenName(sequence.length - 1);
  }

  /** The theme is another one. */
  recolor(dark) {
    const { show } = this.state;
    if (!show) return;
    show.colors = new TokenColors(show.scene, themeColors(dark));
    this.draw();
  }
}
