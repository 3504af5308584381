// @ts-check
/** The prompt of a suspended thread: it was cut off, its messages waited too long, or its task failed. */

import { h, keyCap } from "/page/lib/dom.js";
import { sendMessage } from "/page/lib/outbox.js";
import { said, t } from "/page/lib/words.js";
import { guardClicks } from "/page/parts/gates/gate_list.js";

/** @type {Record<string, { text: string, key: string }[]>} why it is suspended → the answers, as they are sent */
const ANSWERS = {
  cut: [
    { text: "continue", key: "a" },
    { text: "stop", key: "x" },
  ],
  backlog: [
    { text: "run all", key: "a" },
    { text: "merge", key: "m" },
    { text: "skip", key: "x" },
  ],
  failure: [{ text: "continue", key: "a" }],
};

/**
 * Why a thread is suspended. If the daemon stored it without a code, a text of the page that says as much.
 * @param {Thread} thread
 */
export function suspendReason(thread) {
  if (thread.texts?.suspend_message) return said(thread, "suspend_message");
  if (thread.suspended_by === "cut") return t("asks.cut");
  if (thread.suspended_by === "backlog") return t("asks.backlog", { n: thread.queued });
  return thread.suspend_message ?? "";
}

/**
 * @param {Thread} thread
 * @param {{ isNamed?: boolean }} [options] `isNamed`: with a link to the thread
 */
export function suspendedPrompt(thread, { isNamed = false } = {}) {
  const buttons = (ANSWERS[thread.suspended_by ?? ""] ?? []).map(({ text, key }, index) =>
    h(
      "button",
      {
        class: index ? "plain" : "main",
        type: "button",
        "data-key": key,
        "aria-keyshortcuts": key,
        onclick: () => sendMessage({ thread: thread.id, text, answers: thread.asks, pressed: true }),
      },
      t(`asks.${text.replace(" ", "_")}`),
      keyCap(key),
    ),
  );
  const element = h(
    "section",
    {
      class: "gate gate-suspended",
      role: "group",
      tabindex: "-1",
      "data-asks": thread.asks,
      "data-thread": thread.id,
      "aria-label": t("status.suspended"),
    },
    h(
      "header",
      {},
      isNamed && h("a", { href: `#/threads/${thread.id}` }, thread.title || t("untitled")),
      h("span", { class: "gate-kind" }, t("status.suspended")),
    ),
    h("p", { class: "suspend-words" }, suspendReason(thread)),
    h("div", { class: "gate-answers" }, buttons, h("span", { class: "note" }, isNamed ? "" : t("asks.or_write"))),
  );
  const press = (/** @type {string} */ key) => element.querySelector(`[data-key="${key}"]`)?.click();
  return Object.assign(guardClicks(element), {
    allow: () => press("a"),
    stop: () => press("x"),
    merge: () => press("m"),
    decline: () => press("x"),
  });
}
