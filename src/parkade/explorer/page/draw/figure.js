// The picture to download: the tokens, the time and the staircase, drawn with any pen.

import { drawBall } from './ball.js';
import { drawStaircase } from './timechart.js';
import { SANS, SERIF, setText } from './marks.js';
import { SvgPen } from './pen.js';
import { counted, typeset } from '../format.js';

export const FIGURE = { width: 960, height: 1080 };

export function drawFigure(pen, show, view) {
  const { width, height } = FIGURE;
  const { scene, colors: { theme } } = show;
  pen.fillStyle = theme.paper;
  pen.fillRect(0, 0, width, height);
  drawBall(pen, { x: 30, y: 70, w: width - 60, h: height - 320 }, show, view);
  // Zoomed in, the picture reaches beyond its box; the words need their background.
  pen.fillStyle = theme.paper;
  pen.fillRect(0, 0, width, 70);
  pen.fillRect(0, height - 250, width, 250);
  pen.fillStyle = theme.ink;
  setText(pen, `30px ${SERIF}`, 'left', 'alphabetic');
  pen.fillText(scene.when(scene.time(view.u)), 36, 50);
  pen.textAlign = 'right';
  pen.font = `20px ${SANS}`;
  pen.fillText(counted(scene.clustersAt(view.u), 'cluster'), width - 36, 50);
  drawStaircase(pen, { x: 20, y: height - 240, w: width - 40, h: 180 }, scene, view, { ...theme, panel: theme.paper });
  pen.fillStyle = theme.soft;
  setText(pen, `14px ${SANS}`, 'left', 'alphabetic');
  pen.fillText(typeset(scene.caption), 36, height - 24);
}

export function figureSvg(show, view) {
  const pen = new SvgPen(FIGURE.width, FIGURE.height);
  drawFigure(pen, show, view);
  return new Blob([pen.toString(`${typeset(show.scene.caption)}, ${show.scene.when(show.scene.time(view.u))}`)], { type: 'image/svg+xml' });
}

export function figureCanvas(scale, options = {}) {
  const canvas = document.createElement('canvas');
  canvas.width = FIGURE.width * scale;
  canvas.height = FIGURE.height * scale;
  const pen = canvas.getContext('2d', { alpha: false, ...options });
  pen.scale(scale, scale);
  return { canvas, pen };
}

export function figurePng(show, view) {
  const { canvas, pen } = figureCanvas(2);
  drawFigure(pen, show, view);
  return new Promise((resolve) => { canvas.toBlob(resolve, 'image/png'); });
}
