// @ts-check
/** A unified diff in colour. The signs stay, so that colour is never the only difference. */

import { h } from "/page/lib/dom.js";

const MOST_LINES = 2_000;

/** @param {string} text */
export const isDiff = (text) => /^(@@ |--- |\+\+\+ |diff --git )/m.test(text);

/**
 * @param {string} text
 * @param {number} [most] how many lines are drawn
 */
export function newDiff(text, most = MOST_LINES) {
  const lines = text.replace(/\n$/, "").split("\n");
  const shown = lines.slice(0, most).map((line) => h("span", { class: kindOf(line) }, `${line}\n`));
  const rest = lines.length > most ? h("span", { class: "hunk" }, `… ${lines.length - most}\n`) : null;
  return h("pre", { class: "diff", tabindex: "0" }, h("code", {}, shown, rest));
}

/** @param {string} line */
function kindOf(line) {
  if (line.startsWith("+++") || line.startsWith("---") || line.startsWith("diff ")) return "file";
  if (line.startsWith("@@")) return "hunk";
  if (line.startsWith("+")) return "added";
  if (line.startsWith("-")) return "gone";
  return "same";
}

/**
 * How many lines were added and removed.
 * @param {string} text
 */
export function countChanges(text) {
  let added = 0;
  let gone = 0;
  for (const line of text.split("\n")) {
    if (line.startsWith("+") && !line.startsWith("+++")) added++;
    else if (line.startsWith("-") && !line.startsWith("---")) gone++;
  }
  return { added, gone };
}
