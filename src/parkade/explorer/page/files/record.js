// The animation as a file: a video that the browser records, or a GIF.

import { FIGURE, drawFigure, figureCanvas } from '../draw/figure.js';
import { encodeGif } from './gif.js';
import { Timeline } from '../controls/playing.js';
import { completed } from './webm.js';

const TYPES = ['video/webm;codecs=vp9', 'video/webm;codecs=vp8', 'video/webm', 'video/mp4'];
const RATE = 30;
const GIF_RATE = 12.5;
const REST = 1.2; // seconds for which the last picture stays

/** The type of video that this browser can record, or null. */
export function videoType() {
  if (typeof MediaRecorder === 'undefined' || !HTMLCanvasElement.prototype.captureStream) return null;
  return TYPES.find((type) => MediaRecorder.isTypeSupported(type)) ?? null;
}

/** Views of the whole animation, one for each picture. */
function* moments(scene, view, rate, seconds) {
  const count = Math.ceil(rate * seconds);
  for (let i = 0; i <= count; i++) {
    yield { ...view, hover: null, u: i === count ? 1 : scene.momentOfClock(i / count) };
  }
}

/** Record in real time; resolves with a Blob, or null if `signal` was aborted. */
export async function recordVideo(show, view, speed, signal, onProgress) {
  const type = videoType();
  const { canvas, pen } = figureCanvas(1);
  const stream = canvas.captureStream(RATE);
  const recorder = new MediaRecorder(stream, { mimeType: type, videoBitsPerSecond: 6e6, videoKeyFrameIntervalDuration: 1000 });
  const parts = [];
  recorder.addEventListener('dataavailable', (event) => parts.push(event.data));
  const ended = new Promise((resolve) => { recorder.addEventListener('stop', resolve); });
  const seconds = Math.max(0.5, Timeline.seconds(show.scene) / speed);
  drawFigure(pen, show, { ...view, hover: null, u: 0 });
  recorder.start(500);
  const begun = performance.now();
  while (!signal.aborted) {
    const passed = (performance.now() - begun) / 1000;
    const clock = Math.min(1, passed / seconds);
    drawFigure(pen, show, { ...view, hover: null, u: clock < 1 ? show.scene.momentOfClock(clock) : 1 });
    onProgress(Math.min(1, passed / (seconds + REST)));
    if (passed >= seconds + REST) break;
    await new Promise((resolve) => { setTimeout(resolve, 1000 / RATE); });
  }
  recorder.stop();
  await ended;
  for (const track of stream.getTracks()) track.stop();
  if (signal.aborted) return null;
  const film = new Blob(parts, { type: type.split(';')[0] });
  if (film.type !== 'video/webm') return film;
  return new Blob([completed(new Uint8Array(await film.arrayBuffer()), 1000 / RATE)], { type: film.type });
}

/** The animation at half the size and with fewer pictures a second. */
export async function recordGif(show, view, speed, signal, onProgress) {
  const { canvas, pen } = figureCanvas(0.5, { willReadFrequently: true });
  const frames = [];
  const seconds = Math.min(10, Timeline.seconds(show.scene) / speed);
  for (const moment of moments(show.scene, view, GIF_RATE, seconds)) {
    if (signal.aborted) return null;
    drawFigure(pen, show, moment);
    frames.push(pen.getImageData(0, 0, canvas.width, canvas.height).data);
    onProgress((0.4 * frames.length) / (GIF_RATE * seconds));
    await new Promise((resolve) => { setTimeout(resolve); });
  }
  const blob = await encodeGif(frames, FIGURE.width / 2, FIGURE.height / 2, 100 / GIF_RATE, 100 * REST, (share) => onProgress(0.4 + 0.6 * share));
  return signal.aborted ? null : blob;
}
