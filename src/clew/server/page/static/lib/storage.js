// @ts-check
/** JSON in the browser's localStorage: it survives a reload, and all tabs see it. If there is no room, this tab keeps
 * it in memory and says so. */

import { showError } from "/page/lib/status_line.js";
import { t } from "/page/lib/words.js";

/** @type {Map<string, string>} name → JSON, for what had no room */
const inThisTab = new Map();

/**
 * @param {string} name
 * @param {unknown} value
 */
export function saveItem(name, value) {
  const text = JSON.stringify(value);
  try {
    localStorage.setItem(name, text);
    inThisTab.delete(name);
  } catch {
    if (inThisTab.size === 0) showError(new Error(t("storage.full")));
    inThisTab.set(name, text);
  }
}

/** @param {string} name */
export function removeItem(name) {
  localStorage.removeItem(name);
  inThisTab.delete(name);
}

/**
 * Returns null if there is no such item, or if it is not JSON.
 * @param {string} name
 */
export function loadItem(name) {
  try {
    return JSON.parse(inThisTab.get(name) ?? localStorage.getItem(name) ?? "null");
  } catch {
    return null;
  }
}

/** @param {string} prefix */
export const itemNames = (prefix) =>
  [...new Set([...Object.keys(localStorage), ...inThisTab.keys()])].filter((name) => name.startsWith(prefix));
