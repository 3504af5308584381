// @ts-check
/** Messages that the daemon has not accepted yet. Each gets its id before the first try and stays in the browser until
 * the daemon has it, so a lost connection, a reload or a restart neither loses a message nor sends it twice. They are
 * sent one by one, in the order in which they were written. If two tabs send the same one, the daemon takes it once, by
 * its id. A refused message goes back into the draft of its thread, unless it came from a button. */

import { newMessageId, post, statusOf, Unreachable } from "/page/lib/api.js";
import { restoreDraft } from "/page/lib/drafts.js";
import { Emitter } from "/page/lib/emitter.js";
import { showError } from "/page/lib/status_line.js";
import { itemNames, loadItem, removeItem, saveItem } from "/page/lib/storage.js";
import { link, linkState } from "/page/lib/stream.js";
import { said } from "/page/lib/words.js";

/**
 * @typedef {import("/page/lib/drafts.js").StoredFile} StoredFile
 * @typedef {object} NewMessage
 * @property {string} thread
 * @property {string} text
 * @property {boolean} [queue] queue it behind the running turn
 * @property {StoredFile[]} [files]
 * @property {string[]} [sees] codes of the gates that are shown: it can answer no other
 * @property {string | null} [answers] the question of a suspended thread that it answers
 * @property {boolean} [pressed] it came from a button
 *
 * @typedef {NewMessage & { id: string, at: number }} Message
 */

const PREFIX = "clew.unsent."; // each message under a name of its own, so that tabs do not overwrite each other
const RETRY_AFTER = 2_000; // milliseconds, if the daemon is there and yet did not answer

export const outbox = new Emitter(); // emits "changed" and "accepted" (message, the daemon's answer)

let isSending = false;

/** @returns {Message[]} */
function allMessages() {
  const messages = itemNames(PREFIX).map(loadItem).filter(Boolean);
  return messages.sort((one, other) => one.at - other.at);
}

/** @param {string} thread */
export const unsentMessages = (thread) => allMessages().filter((message) => message.thread === thread);

/** @param {NewMessage} message */
export function sendMessage(message) {
  const stored = { id: newMessageId(), at: Date.now(), ...message };
  saveItem(PREFIX + stored.id, stored);
  outbox.emit("changed");
  sendAll();
}

/**
 * Puts a message back into the draft. If it is being sent at this moment, it may arrive all the same.
 * @param {string} id
 */
export function takeBackMessage(id) {
  const message = loadItem(PREFIX + id);
  removeItem(PREFIX + id);
  outbox.emit("changed");
  if (message && !message.pressed) restoreDraft(message.thread, message); // null: another tab was faster
}

async function sendAll() {
  if (isSending) return;
  isSending = true;
  try {
    for (let next = allMessages()[0]; next; next = allMessages()[0]) await sendOne(next);
  } catch {
    if (linkState() === "live") setTimeout(sendAll, RETRY_AFTER); // else when the stream is back
  } finally {
    isSending = false;
  }
}

/**
 * Throws if the message has to be tried again.
 * @param {Message} message
 */
async function sendOne(message) {
  const { id, thread, text, queue, files, sees, answers } = message;
  const fileIds = (files ?? []).map((file) => file.id);
  const body = { message_id: id, text, queue: Boolean(queue), files: fileIds, sees, answers };
  /** @type {Api.Accepted} */
  let accepted;
  try {
    accepted = await post(`/api/threads/${thread}/messages`, body);
  } catch (error) {
    outbox.emit("changed");
    if (error instanceof Unreachable || statusOf(error) === 401) throw error;
    return onRefused(id, error);
  }
  if (accepted.fate === "refused") return onRefused(id, new Error(said(accepted, "words")));
  removeItem(PREFIX + id);
  outbox.emit("accepted", message, accepted);
  outbox.emit("changed");
}

/**
 * @param {string} id
 * @param {unknown} error
 */
function onRefused(id, error) {
  takeBackMessage(id);
  showError(error);
}

link.on("state", (state) => state === "live" && sendAll());
addEventListener("storage", (event) => event.key?.startsWith(PREFIX) && outbox.emit("changed"));
