// @ts-check
/** One thread in the list: its title, status, last line, handle, runtime, folder and surfaces. */

import { h } from "/page/lib/dom.js";
import { folderName, formatDate } from "/page/lib/format.js";
import { waiting } from "/page/lib/state.js";
import { said, t, tOr } from "/page/lib/words.js";
import { suspendReason } from "/page/parts/gates/suspended.js";

const BASE32 = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/**
 * The time at the beginning of an id, which is a ULID.
 * @param {string} id
 */
const timeOf = (id) => [...id.slice(0, 10)].reduce((sum, letter) => sum * 32 + BASE32.indexOf(letter), 0);

/** @param {Thread} thread */
export function statusBadge(thread) {
  const name = thread.gates.length ? "waiting" : thread.status;
  return h("span", { class: `status is-${name}` }, h("span", { class: "dot" }), tOr(`status.${name}`, name));
}

/** @param {Thread} thread */
const surfaceNames = (thread) => (thread.bound ?? []).map(({ surface }) => tOr(`surface.${surface}`, surface));

/** @param {Thread} thread */
export function threadRow(thread) {
  const where = [thread.handle, thread.runtime, folderName(thread.workspace), ...surfaceNames(thread)].filter(Boolean).join(" · ");
  return h("li", { "data-thread": thread.id }, threadLink(thread, where));
}

/**
 * @param {Thread} thread
 * @param {string} where
 */
const threadLink = (thread, where) =>
  h(
    "a",
    { href: `#/threads/${thread.id}` },
    h(
      "span",
      { class: "row-top" },
      h("span", { class: "row-title" }, said(thread, "title") || t("untitled")),
      h("time", {}, formatDate(thread.active_at || timeOf(thread.id))),
    ),
    h("span", { class: "row-line" }, lastLine(thread)),
    h(
      "span",
      { class: "row-foot" },
      statusBadge(thread),
      thread.queued > 0 && h("span", {}, t("list.queued", { n: thread.queued })),
      h("span", { class: "row-where" }, where),
    ),
  );

/** @param {Thread} thread */
function lastLine(thread) {
  if (thread.status === "suspended" && thread.suspend_message) return suspendReason(thread);
  const gate = thread.gates.length ? waiting.gates.find((each) => each.thread === thread.id) : null;
  if (!gate && thread.held) return said(thread, "held");
  return gate ? said(gate.shown, "title") : said(thread, "last_line");
}
