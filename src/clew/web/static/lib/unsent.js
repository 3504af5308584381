/** Messages on their way. Each has its id before the first try and stays in the browser until the daemon has it, so that
 * a lost connection, a reload or a restart neither loses a message nor says it twice. They leave one by one, in the
 * order in which they were said; two tabs that send the same one say it once, by its id. */

import { Away, newId, post } from "/page/lib/api.js";
import { Hub } from "/page/lib/hub.js";
import { link, linkState } from "/page/lib/stream.js";

const PREFIX = "clew.unsent."; // each under a name of its own: tabs do not overwrite each other's
const AGAIN = 2_000; // milliseconds, where the daemon is there and yet did not answer

export const mail = new Hub(); // tells "changed", "taken" (message, accepted), "refused" (message, error)

let isLeaving = false;

function all() {
  const names = Object.keys(localStorage).filter((name) => name.startsWith(PREFIX));
  return names.map((name) => JSON.parse(localStorage.getItem(name))).sort((one, other) => one.at - other.at);
}

export const unsentIn = (thread) => all().filter((message) => message.thread === thread);

/** `{thread, text, queue, files, sees}`. */
export function send(message) {
  const written = { id: newId(), at: Date.now(), ...message };
  localStorage.setItem(PREFIX + written.id, JSON.stringify(written));
  mail.tell("changed");
  leave();
}

/** Gives what it was. Where it was just being sent, it may have arrived. */
export function takeBack(id) {
  const message = JSON.parse(localStorage.getItem(PREFIX + id));
  localStorage.removeItem(PREFIX + id);
  mail.tell("changed");
  return message;
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
  const { id, thread, text, queue, files, sees } = message;
  const body = { message_id: id, text, queue: Boolean(queue), files: (files ?? []).map((file) => file.id), sees };
  try {
    const accepted = await post(`/api/threads/${thread}/messages`, body);
    takeBack(id);
    mail.tell("taken", message, accepted);
  } catch (error) {
    mail.tell("changed");
    if (error instanceof Away || error.status === 401) throw error;
    takeBack(id);
    mail.tell("refused", message, error);
  }
}

link.on("state", (state) => state === "live" && leave());
addEventListener("storage", (event) => event.key?.startsWith(PREFIX) && mail.tell("changed"));
