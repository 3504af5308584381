/** What was typed and not sent yet, for each thread; it outlives a reload, a crash of the browser and the daemon. */

import { Hub } from "/page/lib/emitter.js";
import { drop, keep, kept } from "/page/lib/storage.js";

const PREFIX = "clew.draft.";

export const drafts = new Hub(); // tells a thread's id, where its draft was changed by something else than its field

export const draft = (thread) => kept(PREFIX + thread) ?? {};

/** Nothing in it: it is forgotten. */
export function keepDraft(thread, value) {
  const isEmpty = !value || Object.values(value).every((each) => !each || each.length === 0);
  if (isEmpty) drop(PREFIX + thread);
  else keep(PREFIX + thread, value);
}

/** Words that were sent and come back stand before those that were typed since. */
export function giveBack(thread, { text, files = [] }) {
  const since = draft(thread);
  const words = [text, since.text].filter(Boolean).join("\n\n");
  keepDraft(thread, { ...since, text: words, files: [...files, ...(since.files ?? [])] });
  drafts.tell(thread);
}

addEventListener("storage", ({ key }) => key?.startsWith(PREFIX) && drafts.tell(key.slice(PREFIX.length)));
