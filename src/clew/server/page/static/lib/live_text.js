/** What is being written right now, in every running turn: the pieces put together, whole from the first frame on.
 *
 * A runtime may give up a text and begin it anew. Offsets count characters, not the units of JavaScript. */

import { Hub } from "/page/lib/emitter.js";
import { events } from "/page/lib/stream.js";

const turns = new Map(); // turn → Map of item → {text, length, done}

export const written = new Hub(); // tells a turn's id: (item, text, {done, cut})

/** The texts of a turn so far, in the order in which they were begun. */
export const textsOf = (turn) => [...(turns.get(turn) ?? [])].map(([item, { text, done }]) => ({ item, text, done }));

function entry(turn, item) {
  if (!turns.has(turn)) turns.set(turn, new Map());
  const items = turns.get(turn);
  if (!items.has(item)) items.set(item, { text: "", length: 0, done: false });
  return items.get(item);
}

function set(frame, text, done) {
  const open = entry(frame.turn, frame.item);
  open.text = text;
  open.length = characters(text);
  open.done = done;
  written.tell(frame.turn, frame.item, text, { done });
}

function characters(text) {
  let count = text.length;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit >= 0xd800 && unit < 0xdc00) count--;
  }
  return count;
}

function piece(frame) {
  const open = entry(frame.turn, frame.item);
  if (frame.offset === 0 && open.length > 0) return set(frame, frame.text, false);
  if (frame.offset !== open.length) return; // a gap or a repeat: the whole comes with its end
  open.text += frame.text;
  open.length += characters(frame.text);
  written.tell(frame.turn, frame.item, open.text, { done: false });
}

events.on("text", piece);
events.on("open", (frame) => set(frame, frame.text, false));
events.on("written", (frame) => set(frame, frame.text, true));
events.on("text.done", (frame) => {
  if (!frame.cut) return set(frame, frame.text, true);
  turns.get(frame.turn)?.delete(frame.item);
  written.tell(frame.turn, frame.item, "", { done: true, cut: true });
});
events.on("turn.ended", (frame) => turns.delete(frame.turn));
events.on("reset", () => turns.clear());
