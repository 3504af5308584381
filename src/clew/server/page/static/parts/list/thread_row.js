/** One thread in the list: its title, how it stands, its last line, and where it is. */

import { h } from "/page/lib/dom.js";
import { folder, when } from "/page/lib/format.js";
import { waiting } from "/page/lib/state.js";
import { known, t } from "/page/lib/words.js";
import { why } from "/page/parts/gates/suspended.js";

/** ULIDs begin with their time. */
const LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
export const bornAt = (id) => [...id.slice(0, 10)].reduce((sum, letter) => sum * 32 + LETTERS.indexOf(letter), 0);

export function status(view) {
  const name = view.gates.length ? "waiting" : view.status;
  return h("span", { class: `status is-${name}` }, h("span", { class: "dot" }), known(`status.${name}`, name));
}

export const places = (view) => (view.bound ?? []).map((each) => known(`surface.${each.surface}`, each.surface));

export function threadRow(view) {
  const where = [view.runtime, folder(view.workspace), ...places(view)].filter(Boolean).join(" · ");
  return h(
    "li",
    { "data-thread": view.id },
    h(
      "a",
      { href: `#/threads/${view.id}` },
      h(
        "span",
        { class: "row-top" },
        h("span", { class: "row-title" }, view.title || t("untitled")),
        h("time", {}, when(view.created_at || bornAt(view.id))),
      ),
      h("span", { class: "row-line" }, line(view)),
      h(
        "span",
        { class: "row-foot" },
        status(view),
        view.queued > 0 && h("span", {}, t("list.queued", { n: view.queued })),
        h("span", { class: "row-where" }, where),
      ),
    ),
  );
}

function line(view) {
  if (view.status === "suspended" && view.suspend_message) return why(view);
  const asked = view.gates.length ? waiting.gates.find((gate) => gate.thread === view.id)?.shown.title : null;
  return asked ?? view.last_line ?? "";
}
