/** Messages on their way. Each has its id before the first try and stays in the browser until the daemon has it, so that
 * a lost connection, a reload or a restart neither loses a message nor says it twice. They leave one by one, in the
 * order in which they were said; two tabs that send the same one say it once, by its id. What is refused becomes the
 * draft of its thread again, unless it was a button. */

import { Away, newId, post } from "/page/lib/api.js";
import { giveBack } from "/page/lib/drafts.js";
import { Hub } from "/page/lib/emitter.js";
import { drop, keep, kept, keptNames } from "/page/lib/storage.js";
import { complain } from "/page/lib/status_line.js";
import { link, linkState } from "/page/lib/stream.js";

const PREFIX = "clew.unsent."; // each under a name of its own: tabs do not overwrite each other's
const AGAIN = 2_000; // milliseconds, where the daemon is there and yet did not answer

export const mail = new Hub(); // tells "changed", "taken" (message, accepted)

let isLeaving = false;

function all() {
  const messages = keptNames(PREFIX).map(kept).filter(Boolean);
  return messages.sort((one, other) => one.at - other.at);
}

export const unsentIn = (thread) => all().filter((message) => message.thread === thread);

/** `{thread, text, queue, files, sees, answers, pressed}`. */
export function send(message) {
  const written = { id: newId(), at: Date.now(), ...message };
  keep(PREFIX + written.id, written);
  mail.tell("changed");
  leave();
}

/** Back into the field. Where it was just being sent, it may have arrived. */
export function takeBack(id) {
  const message = kept(PREFIX + id);
  drop(PREFIX + id);
  mail.tell("changed");
  if (message && !message.pressed) giveBack(message.thread, message); // else a button, or another tab was quicker
}

async function leave() {
  if (isLeaving) return;
  isLeaving = true;
  try {
    for (let next = all()[0]; next; next = all()[0]) await deliver(next);
  } catch {
    if (linkState().state === "live") setTimeout(leave, AGAIN); // else when the stream is back
  } finally {
    isLeaving = false;
  }
}

/** Raises where it stays for another try. */
async function deliver(message) {
  const { id, thread, text, queue, files, sees, answers } = message;
  const sent = (files ?? []).map((file) => file.id);
  const body = { message_id: id, text, queue: Boolean(queue), files: sent, sees, answers };
  let accepted;
  try {
    accepted = await post(`/api/threads/${thread}/messages`, body);
  } catch (error) {
    mail.tell("changed");
    if (error instanceof Away || error.status === 401) throw error;
    return refused(id, error);
  }
  if (accepted.fate === "refused") return refused(id, new Error(accepted.words));
  drop(PREFIX + id);
  mail.tell("taken", message, accepted);
  mail.tell("changed");
}

function refused(id, error) {
  takeBack(id);
  complain(error);
}

link.on("state", (state) => state === "live" && leave());
addEventListener("storage", (event) => event.key?.startsWith(PREFIX) && mail.tell("changed"));
