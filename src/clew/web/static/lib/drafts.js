/** What was typed and not sent yet, for each thread; it outlives a reload, a crash of the browser and the daemon. */

const name = (thread) => `clew.draft.${thread}`;

export function draft(thread) {
  try {
    return JSON.parse(localStorage.getItem(name(thread))) ?? {};
  } catch {
    return {};
  }
}

/** Nothing in it: it is forgotten. */
export function keepDraft(thread, value) {
  const isEmpty = !value || Object.values(value).every((each) => !each || each.length === 0);
  if (isEmpty) localStorage.removeItem(name(thread));
  else localStorage.setItem(name(thread), JSON.stringify(value));
}
