/** A unified diff in colour. Signs stay, so that colour is never the only thing that tells. */

import { h } from "/page/lib/dom.js";

const LINES = 2_000;

export const isDiff = (text) => /^(@@ |--- |\+\+\+ |diff --git )/m.test(text);

/** `most`: lines that are drawn; a gate shows all. */
export function diff(text, most = LINES) {
  const lines = text.replace(/\n$/, "").split("\n");
  const shown = lines.slice(0, most).map((line) => h("span", { class: kind(line) }, `${line}\n`));
  const rest = lines.length > most ? h("span", { class: "hunk" }, `… ${lines.length - most}\n`) : null;
  return h("pre", { class: "diff", tabindex: "0" }, h("code", {}, shown, rest));
}

function kind(line) {
  if (line.startsWith("+++") || line.startsWith("---") || line.startsWith("diff ")) return "file";
  if (line.startsWith("@@")) return "hunk";
  if (line.startsWith("+")) return "added";
  if (line.startsWith("-")) return "gone";
  return "same";
}

/** `+12 −3`, for the folded line. */
export function counts(text) {
  let added = 0;
  let gone = 0;
  for (const line of text.split("\n")) {
    if (line.startsWith("+") && !line.startsWith("+++")) added++;
    else if (line.startsWith("-") && !line.startsWith("---")) gone++;
  }
  return { added, gone };
}
