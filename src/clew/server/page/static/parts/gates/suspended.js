/** A thread that waits outside a turn: it was cut off, its messages waited too long, or its task failed. */

import { cap, h } from "/page/lib/dom.js";
import { send } from "/page/lib/outbox.js";
import { t } from "/page/lib/words.js";
import { guard } from "/page/parts/gates/gate_list.js";

const ANSWERS = {
  cut: [
    ["continue", "a"],
    ["stop", "x"],
  ],
  backlog: [
    ["run all", "a"],
    ["merge", "m"],
    ["skip", "x"],
  ],
  failure: [["continue", "a"]],
};

/** In our own words where they say as much. */
export function why(view) {
  if (view.suspended_by === "cut") return t("asks.cut");
  if (view.suspended_by === "backlog") return t("asks.backlog", { n: view.queued });
  return view.suspend_message;
}

export function suspended(view, { named = false } = {}) {
  const buttons = (ANSWERS[view.suspended_by] ?? []).map(([says, key], number) =>
    h(
      "button",
      {
        class: number ? "plain" : "main",
        type: "button",
        "data-key": key,
        "aria-keyshortcuts": key,
        onclick: () => send({ thread: view.id, text: says, answers: view.asks, pressed: true }),
      },
      t(`asks.${says.replace(" ", "_")}`),
      cap(key),
    ),
  );
  const element = h(
    "section",
    {
      class: "gate gate-suspended",
      role: "group",
      tabindex: "-1",
      "data-asks": view.asks,
      "data-thread": view.id,
      "aria-label": t("status.suspended"),
    },
    h(
      "header",
      {},
      named && h("a", { href: `#/threads/${view.id}` }, view.title || t("untitled")),
      h("span", { class: "gate-kind" }, t("status.suspended")),
    ),
    h("p", { class: "suspend-words" }, why(view)),
    h("div", { class: "gate-answers" }, buttons, h("span", { class: "note" }, named ? "" : t("asks.or_write"))),
  );
  const press = (key) => element.querySelector(`[data-key="${key}"]`)?.click();
  return Object.assign(guard(element), {
    allow: () => press("a"),
    stop: () => press("x"),
    merge: () => press("m"),
    decline: () => press("x"),
  });
}
