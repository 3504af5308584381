// @ts-check
/** What was typed and not sent yet, for each thread. It survives a reload, and a crash of the browser or the daemon. */

import { Emitter } from "/page/lib/emitter.js";
import { loadItem, removeItem, saveItem } from "/page/lib/storage.js";

/**
 * @typedef {{ id: string, name: string, size: number }} StoredFile an uploaded file
 * @typedef {{ text?: string, files?: StoredFile[], workspace?: string, id?: string }} Draft
 */

const PREFIX = "clew.draft.";

export const drafts = new Emitter(); // emits a thread's id if its draft was changed by something else than its field

/**
 * @param {string} thread
 * @returns {Draft}
 */
export const loadDraft = (thread) => loadItem(PREFIX + thread) ?? {};

/**
 * Stores a draft, or removes it if it is empty.
 * @param {string} thread
 * @param {Draft} draft
 */
export function saveDraft(thread, draft) {
  const isEmpty = Object.values(draft).every((value) => !value || value.length === 0);
  if (isEmpty) removeItem(PREFIX + thread);
  else saveItem(PREFIX + thread, draft);
}

/**
 * Puts a message that was taken back or refused into the draft, before what was typed since.
 * @param {string} thread
 * @param {{ text: string, files?: StoredFile[] }} message
 */
export function restoreDraft(thread, { text, files = [] }) {
  const since = loadDraft(thread);
  const joined = [text, since.text].filter(Boolean).join("\n\n");
  saveDraft(thread, { ...since, text: joined, files: [...files, ...(since.files ?? [])] });
  drafts.emit(thread);
}

addEventListener("storage", ({ key }) => key?.startsWith(PREFIX) && drafts.emit(key.slice(PREFIX.length)));
