// Notes on the picture: how many clusters wait and for how long, and who has just joined whom.

import { SANS, rimmedText, ring, setText } from './marks.js';
import { notesAt } from '../panels/story.js';

/**
 * Write the notes of this moment into the corner of a box, and mark the cluster that has grown.
 * Returns where each of them ends: { right, bottom }.
 */
export function drawNotes(pen, box, show, view, places) {
  const { scene, colors: { theme } } = show;
  const notes = notesAt(scene, view.u);
  if (!notes) return [];
  setText(pen, `600 15px ${SANS}`, 'left', 'top');
  rimmedText(pen, notes.state, box.x + 4, box.y + 4, theme.ink, theme.paper);
  const ends = [{ right: box.x + 8 + pen.measureText(notes.state).width, bottom: box.y + 20 }];
  if (!notes.merge) return ends;
  const { into, fresh, text } = notes.merge;
  pen.globalAlpha = Math.min(1, 3 * fresh);
  pen.font = `14px ${SANS}`;
  rimmedText(pen, text, box.x + 4, box.y + 25, theme.ink, theme.paper);
  ends.push({ right: box.x + 8 + pen.measureText(text).width, bottom: box.y + 40 });
  pen.globalAlpha = 0.9 * fresh;
  ring(pen, places[3 * into], places[3 * into + 1], 14 + 26 * (1 - fresh), theme.accent, 2.5);
  pen.globalAlpha = 1;
  return ends;
}
