/** Messages on their way. Each has its id before the first try and stays in the browser until the daemon has it, so that
 * a lost connection, a reload or a restart neither loses a message nor says it twice. */

import { Away, newId, post } from "/page/lib/api.js";
import { Hub } from "/page/lib/hub.js";
import { link } from "/page/lib/stream.js";

const NAME = "clew.unsent";
export const mail = new Hub(); // tells "changed", "taken" (message, accepted), "refused" (message, error)

const underWay = new Set();

const all = () => JSON.parse(localStorage.getItem(NAME) ?? "[]");

function put(messages) {
  localStorage.setItem(NAME, JSON.stringify(messages));
  mail.tell("changed");
}

export const unsentIn = (thread) => all().filter((message) => message.thread === thread);

/** `{thread, text, queue, files, sees}`. Gives the id that it goes by. */
export function send(message) {
  const written = { id: newId(), at: Date.now(), ...message };
  put([...all(), written]);
  deliver(written);
  return written.id;
}

/** Where it may not have arrived yet. */
export function takeBack(id) {
  const message = all().find((each) => each.id === id);
  put(all().filter((each) => each.id !== id));
  return message;
}

async function deliver({ id, thread, text, queue, files, sees }) {
  if (underWay.has(id)) return;
  underWay.add(id);
  try {
    const body = { message_id: id, text, queue: Boolean(queue), files: (files ?? []).map((file) => file.id), sees };
    const accepted = await post(`/api/threads/${thread}/messages`, body);
    const message = takeBack(id);
    mail.tell("taken", message ?? { id, thread, text }, accepted);
  } catch (error) {
    if (!(error instanceof Away) && error.status !== 401) mail.tell("refused", takeBack(id), error);
    else mail.tell("changed");
  } finally {
    underWay.delete(id);
  }
}

link.on("state", (state) => state === "live" && all().forEach(deliver));
addEventListener("storage", (event) => event.key === NAME && mail.tell("changed"));
