/** All that a thread has asked, and what became of it. */

import { get } from "/page/lib/api.js";
import { h, show } from "/page/lib/dom.js";
import { when } from "/page/lib/format.js";
import { known, t } from "/page/lib/words.js";
import { dialog } from "/page/parts/dialogs/dialog.js";

export async function askedBefore(thread) {
  const list = h("ul", { class: "sessions", "aria-busy": "true" }, h("li", { class: "waits" }, t("list.waiting")));
  dialog(t("asked.title"), "asked", list);
  try {
    const gates = await get(`/api/gates?thread=${thread}`);
    show(list, gates.length ? gates.map(row) : h("li", { class: "note" }, t("asked.none")));
  } catch (error) {
    show(list, h("li", { class: "note" }, error.message));
  }
  list.removeAttribute("aria-busy");
}

function row(gate) {
  const fate = gate.decision ?? gate.state;
  const by = gate.answered_by === "you" ? t("you") : gate.answered_by;
  const at = when(gate.answered_at ?? gate.asked_at);
  const about = [known(`asked.${fate}`, fate), by, at, gate.why, gate.answer_reason, ...gate.shown.replies.flat()];
  return h(
    "li",
    {},
    h("code", { class: "row-title" }, gate.shown.title),
    h("span", { class: "note" }, about.filter(Boolean).join(" · ")),
  );
}
