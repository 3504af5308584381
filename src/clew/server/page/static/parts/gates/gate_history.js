// @ts-check
/** A dialog with all gates of a thread, and how each was answered. */

import { get, messageOf } from "/page/lib/api.js";
import { h, setContent } from "/page/lib/dom.js";
import { formatDate } from "/page/lib/format.js";
import { said, t, tOr } from "/page/lib/words.js";
import { openDialog } from "/page/parts/dialogs/dialog.js";

/** @param {string} thread */
export async function showGateHistory(thread) {
  const list = h("ul", { class: "sessions", "aria-busy": "true" }, h("li", { class: "waits" }, t("list.waiting")));
  openDialog(t("gate_history.title"), "gate-history", list);
  try {
    /** @type {Gate[]} */
    const gates = await get(`/api/gates?thread=${thread}`);
    setContent(list, gates.length ? gates.map(row) : h("li", { class: "note" }, t("gate_history.none")));
  } catch (error) {
    setContent(list, h("li", { class: "note" }, messageOf(error)));
  }
  list.removeAttribute("aria-busy");
}

/** @param {Gate} gate */
function row(gate) {
  const result = gate.decision ?? gate.state;
  const by = gate.answered_by === "you" ? t("you") : said(gate, "answered_by");
  const at = formatDate(gate.answered_at ?? gate.asked_at);
  const replies = gate.shown.replies.flat();
  const facts = [tOr(`gate_history.${result}`, result), by, at, said(gate, "why"), gate.answer_reason, ...replies];
  return h(
    "li",
    {},
    h("code", { class: "row-title" }, said(gate.shown, "title")),
    h("span", { class: "note" }, facts.filter(Boolean).join(" · ")),
  );
}
