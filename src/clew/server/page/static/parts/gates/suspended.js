// @ts-check
/** The prompt of a suspended thread: it was cut off, its messages waited too long, its
 * task failed, or its budget is used up. */

import { h, keyCap, withCode } from "/page/lib/dom.js";
import { formatDuration } from "/page/lib/format.js";
import { sendMessage } from "/page/lib/outbox.js";
import { agentName, said, t } from "/page/lib/words.js";
import { guardClicks } from "/page/parts/gates/gate_list.js";

/** @type {Record<string, { text: string, key: string, label?: string }[]>} why it is suspended → the answers, as they are sent */
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
  budget: [
    { text: "go on", key: "a" },
    { text: "raise", key: "m" },
    { text: "stop", key: "x" },
  ],
  failure: [{ text: "continue", key: "a" }],
  limit: [
    { text: "now", key: "a" },
    { text: "stop", key: "x" },
  ],
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
 * The answers to the question of a suspended thread; at a usage limit also the agent that could take the work.
 * @param {Thread} thread
 */
function answersOf(thread) {
  const answers = ANSWERS[thread.suspended_by ?? ""] ?? [];
  const agent = thread.other_agent;
  if (!agent || !answers.length) return answers;
  const [first, ...rest] = answers;
  return [first, { text: `on ${agent}`, key: "w", label: t("asks.on_agent", { agent: agentName(agent) }) }, ...rest];
}

/**
 * What tells the question of a thread, as it is shown, from another: the same one may come to say another time.
 * @param {Thread} thread
 */
export const questionOf = (thread) =>
  [thread.asks, thread.wake_at, thread.other_agent, thread.suspend_message].map((each) => each ?? "").join(" ");

/**
 * How long a thread at a usage limit still waits.
 * @param {Thread} thread
 */
function wakesIn(thread) {
  const left = (thread.wake_at ?? 0) - Date.now();
  return left > 0 ? ` ${t("asks.wakes_in", { time: formatDuration(left) })}` : "";
}

/**
 * @param {Thread} thread
 * @param {{ isNamed?: boolean }} [options] `isNamed`: with a link to the thread
 */
export function suspendedPrompt(thread, { isNamed = false } = {}) {
  const buttons = answersOf(thread).map(({ text, key, label }, index) =>
    h(
      "button",
      {
        class: index ? "plain" : "main",
        type: "button",
        "data-key": key,
        "aria-keyshortcuts": key,
        onclick: () => sendMessage({ thread: thread.id, text, answers: thread.asks, pressed: true }),
      },
      label ?? t(`asks.${text.replace(" ", "_")}`),
      keyCap(key),
    ),
  );
  const element = h(
    "section",
    {
      class: "gate gate-suspended",
      role: "group",
      tabindex: "-1",
      "data-asks": questionOf(thread),
      "data-thread": thread.id,
      "aria-label": t("status.suspended"),
    },
    h(
      "header",
      {},
      isNamed && h("a", { href: `#/threads/${thread.id}` }, thread.title || t("untitled")),
      h("span", { class: "gate-kind" }, t("status.suspended")),
    ),
    h("p", { class: "suspend-words" }, withCode(suspendReason(thread)), wakesIn(thread)),
    h("div", { class: "gate-answers" }, buttons, h("span", { class: "note" }, isNamed ? "" : t("asks.or_write"))),
  );
  const press = (/** @type {string} */ key) => element.querySelector(`[data-key="${key}"]`)?.click();
  return Object.assign(guardClicks(element), {
    allow: () => press("a"),
    stop: () => press("x"),
    merge: () => press("m"),
    otherAgent: () => press("w"),
    decline: () => press("x"),
  });
}
