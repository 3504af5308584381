// @ts-check
/** The texts that running turns are writing, put together from the pieces in the event stream. A text is complete from
 * its first frame on: it arrives with "open" or "written", or as pieces from offset 0.
 *
 * A runtime may discard a text and begin it again. Offsets count characters, not JavaScript's UTF-16 units. */

import { Emitter } from "/page/lib/emitter.js";
import { events } from "/page/lib/stream.js";

/** @typedef {{ turn: string, item: string, text: string }} Frame */

/** @type {Map<string, Map<string, { text: string, length: number, done: boolean }>>} turn → item → its text */
const turns = new Map();

export const liveText = new Emitter(); // emits a turn's id: (item, text, {done, cut})

/**
 * The texts of a turn so far, in the order in which they began.
 * @param {string} turn
 */
export const textsOfTurn = (turn) =>
  [...(turns.get(turn) ?? [])].map(([item, { text, done }]) => ({ item, text, done }));

/** @param {Frame} frame */
function openText({ turn, item }) {
  const items = turns.get(turn) ?? new Map();
  turns.set(turn, items);
  if (!items.has(item)) items.set(item, { text: "", length: 0, done: false });
  return items.get(item);
}

/**
 * @param {Frame} frame
 * @param {boolean} done
 */
function setText(frame, done) {
  Object.assign(openText(frame), { text: frame.text, length: countCharacters(frame.text), done });
  liveText.emit(frame.turn, frame.item, frame.text, { done });
}

/** @param {string} text */
function countCharacters(text) {
  let count = text.length;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit >= 0xd800 && unit < 0xdc00) count--;
  }
  return count;
}

/** @param {FrameOf<"text">} frame */
function appendText(frame) {
  const open = openText(frame);
  if (frame.offset === 0 && open.length > 0) return setText(frame, false);
  if (frame.offset !== open.length) return; // a gap or a repeat: the whole text comes with its end
  open.text += frame.text;
  open.length += countCharacters(frame.text);
  liveText.emit(frame.turn, frame.item, open.text, { done: false });
}

events.on("text", appendText);
events.on("open", (frame) => setText(frame, false));
events.on("written", (frame) => setText(frame, true));
events.on("text.done", (frame) => {
  if (!frame.cut) return setText(frame, true);
  turns.get(frame.turn)?.delete(frame.item);
  liveText.emit(frame.turn, frame.item, "", { done: true, cut: true });
});
events.on("turn.ended", (frame) => frame.turn && turns.delete(frame.turn));
events.on("reset", () => turns.clear());
