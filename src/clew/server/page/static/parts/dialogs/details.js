// @ts-check
/** The dialog with the details of a thread: its ids, its sessions with runtimes, and the receipts of its deliveries. */

import { get, messageOf } from "/page/lib/api.js";
import { h, setContent } from "/page/lib/dom.js";
import { formatFullDate } from "/page/lib/format.js";
import { agentName, said, t, tOr } from "/page/lib/words.js";
import { openDialog } from "/page/parts/dialogs/dialog.js";

const MOST_RECEIPTS = 50; // the newest

/** @param {Thread} thread */
export async function showDetails(thread) {
  const more = h("div", { class: "details-more", "aria-busy": "true" }, h("p", { class: "waits" }, t("list.waiting")));
  openDialog(t("details"), "details", facts(thread), more);
  const path = `/api/threads/${thread.id}`;
  try {
    /** @type {[Api.ContinuityView[], Api.WhereRow[]]} */
    const [sessions, rows] = await Promise.all([get(`${path}/continuity`), get(`${path}/deliveries`)]);
    setContent(more, runtimes(sessions), receipts(rows));
  } catch (error) {
    setContent(more, h("p", { class: "note" }, messageOf(error)));
  }
  more.removeAttribute("aria-busy");
}

/** @param {string | null} text */
const code = (text) => text && h("code", {}, text);
/** @param {number | null} at */
const fullDate = (at) => at && formatFullDate(at);

/** @param {Thread} thread */
function facts(thread) {
  /** @type {[label: string, value: Child][]} */
  const rows = [
    [t("details.id"), code(thread.id)],
    [t("details.turn"), code(thread.turn)],
    [t("details.head"), code(thread.head)],
    [t("new.by.kind"), tOr(`kind.${thread.kind}`, thread.kind)],
    [t("new.by.workspace"), code(thread.workspace)],
    [t("details.fallback"), thread.fallback && (thread.fallback.map(agentName).join(", ") || t("details.nobody"))],
    [t("details.at_limit"), atLimit(thread)],
    [t("details.adopted"), code(thread.adopted)],
    [t("details.created"), fullDate(thread.created_at)],
    [t("details.completed"), fullDate(thread.completed_at)],
  ];
  return h(
    "dl",
    { class: "facts" },
    rows.map(([label, value]) => value && h("div", {}, h("dt", {}, label), h("dd", {}, value))),
  );
}

/**
 * How it waits at a usage limit, if somebody chose that for it.
 * @param {Thread} thread
 */
function atLimit({ on_limit: way, limit_waits: waits, quiet_hours: hours }) {
  const quiet = typeof hours === "string" && (hours ? t("details.quiet", { hours }) : t("details.not_quiet"));
  const told = [way && t(`details.on_limit.${way}`), waits && t("details.windows", { n: waits }), quiet];
  return told.filter(Boolean).join("; ");
}

/** @param {Api.ContinuityView[]} sessions */
function runtimes(sessions) {
  const row = (/** @type {Api.ContinuityView} */ session) =>
    h(
      "li",
      {},
      h("strong", {}, session.role ? `${session.runtime} (${session.role})` : session.runtime),
      h("span", {}, tOr(`session.${session.status}`, session.status)),
      session.restarts > 0 && h("span", {}, t("session.restarts", { n: session.restarts })),
      h("small", {}, fullDate(session.used_at)),
      session.status === "error" && h("p", { class: "trouble" }, said(session, "reason")),
    );
  const used = sessions.filter((session) => session.status);
  return used.length > 0 && [h("h3", {}, t("details.agents")), h("ul", { class: "states" }, used.map(row))];
}

/** @param {Api.WhereRow[]} rows */
function receipts(rows) {
  const newest = rows.slice(-MOST_RECEIPTS).reverse();
  return newest.length > 0 && [h("h3", {}, t("details.receipts")), h("ul", { class: "states" }, newest.map(receipt))];
}

/** @param {Api.WhereRow} row */
function receipt(row) {
  const surface = (row.conversation ?? "").split(":")[0];
  return h(
    "li",
    {},
    h("strong", { title: row.conversation }, surface ? tOr(`surface.${surface}`, surface) : t("details.here")),
    h("span", {}, tOr(`delivery.${row.state}`, row.state)),
    row.runtime && h("span", {}, agentName(row.runtime)),
    row.attempts > 0 && h("span", {}, t("outbox.attempts", { n: row.attempts })),
    row.sent_at && h("small", {}, fullDate(row.sent_at)),
    row.message_id && h("small", {}, messageTrace(surface, row.message_id)),
    h("small", {}, code(row.delivery)),
    row.error && h("p", { class: "trouble" }, said(row, "error")),
  );
}

/**
 * The platform's id of the message; on this machine, where it was shown.
 * @param {string} surface
 * @param {string} message
 */
const messageTrace = (surface, message) =>
  (surface === "local" && tOr(`shown.${message}`, null)) || t("details.message", { id: message });
