// @ts-check
/** A unified diff in colour. The signs stay, so that colour is never the only difference. */

import { h } from "/page/lib/dom.js";

const MOST_LINES = 2_000;

/** @param {string} text */
export const isDiff = (text) => /^(@@ |--- |\+\+\+ |diff --git )/m.test(text);

const HUNK = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;
const FOLDED = /^[+-]?⏎×(\d+)$/; // blank lines that are shown as their number

/**
 * @param {string} text
 * @param {number} [most] how many lines are drawn
 */
export function newDiff(text, most = MOST_LINES) {
  const lines = text.replace(/\n$/, "").split("\n");
  const kinds = kindsOf(lines);
  const shown = lines.slice(0, most).map((line, at) => h("span", { class: kinds[at] }, `${line}\n`));
  const rest = lines.length > most ? h("span", { class: "hunk" }, `… ${lines.length - most}\n`) : null;
  return h("pre", { class: "diff", tabindex: "0" }, h("code", {}, shown, rest));
}

/**
 * What each line is. A hunk says how many lines it has: an added `++ x` in it is not the name of a file.
 * @param {string[]} lines
 */
function kindsOf(lines) {
  let [gone, added] = [0, 0]; // how many lines of the hunk are left
  return lines.map((line, at) => {
    const hunk = HUNK.exec(line);
    const isInHunk = gone > 0 || added > 0;
    if (hunk) [gone, added] = [Number(hunk[1] ?? 1), Number(hunk[2] ?? 1)];
    if (line.startsWith("@@")) return "hunk";
    if (!isInHunk && isFileName(line, lines[at - 1], lines[at + 1])) return "file";
    const count = Number(FOLDED.exec(line)?.[1] ?? 1);
    if (!line.startsWith("+") && !line.startsWith("\\")) gone -= count;
    if (!line.startsWith("-") && !line.startsWith("\\")) added -= count;
    return line.startsWith("+") ? "added" : line.startsWith("-") ? "gone" : "same";
  });
}

/**
 * Outside of hunks: `--- a` before `+++ b`.
 * @param {string} line
 * @param {string} [before]
 * @param {string} [after]
 */
const isFileName = (line, before, after) =>
  line.startsWith("diff ") ||
  (line.startsWith("--- ") && after?.startsWith("+++ ")) ||
  (line.startsWith("+++ ") && before?.startsWith("--- "));

/**
 * How many lines were added and removed.
 * @param {string} text
 */
export function countChanges(text) {
  const kinds = kindsOf(text.split("\n"));
  const count = (/** @type {string} */ kind) => kinds.filter((each) => each === kind).length;
  return { added: count("added"), gone: count("gone") };
}
