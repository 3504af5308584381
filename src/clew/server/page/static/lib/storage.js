/** What the browser keeps for us, through a reload and for all tabs. Where it has no room, this tab keeps it, and says
 * so. */

import { complain } from "/page/lib/status_line.js";
import { t } from "/page/lib/words.js";

const here = new Map(); // name → JSON

export function keep(name, value) {
  const text = JSON.stringify(value);
  try {
    localStorage.setItem(name, text);
    here.delete(name);
  } catch {
    if (here.size === 0) complain(new Error(t("kept.full")));
    here.set(name, text);
  }
}

export function drop(name) {
  localStorage.removeItem(name);
  here.delete(name);
}

/** Null where there is nothing, or nothing that can be read. */
export function kept(name) {
  try {
    return JSON.parse(here.get(name) ?? localStorage.getItem(name));
  } catch {
    return null;
  }
}

export const keptNames = (prefix) =>
  [...new Set([...Object.keys(localStorage), ...here.keys()])].filter((name) => name.startsWith(prefix));
