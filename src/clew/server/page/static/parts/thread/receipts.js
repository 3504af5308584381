// @ts-check
/** Shows at each answer of a timeline where it was delivered. */

import { get } from "/page/lib/api.js";
import { h, setContent } from "/page/lib/dom.js";
import { formatTime } from "/page/lib/format.js";
import { coalesce } from "/page/lib/timing.js";
import { said, t, tOr } from "/page/lib/words.js";

/** @type {WeakMap<HTMLElement, () => void>} timeline → its update, which is coalesced */
const updates = new WeakMap();

/**
 * @param {string} thread
 * @param {HTMLElement} timeline
 */
export function updateReceipts(thread, timeline) {
  const update = updates.get(timeline) ?? coalesce(() => fetchReceipts(thread, timeline), 200);
  updates.set(timeline, update);
  update();
}

/**
 * @param {string} thread
 * @param {HTMLElement} timeline
 */
async function fetchReceipts(thread, timeline) {
  /** @type {Api.WhereRow[]} */
  let rows;
  try {
    rows = await get(`/api/threads/${thread}/deliveries`);
  } catch {
    return; // the next event fetches them
  }
  /** @type {Map<string | undefined, Api.WhereRow>} turn → its last delivery */
  const byTurn = new Map(rows.filter((row) => row.kind === "final").map((row) => [row.turn ?? undefined, row]));
  for (const place of timeline.querySelectorAll(".receipts")) {
    const row = place.dataset.turn ? byTurn.get(place.dataset.turn) : null;
    setContent(place, row && receipt(row));
  }
}

/**
 * `reached Telegram 14:02:11, once`.
 * @param {Api.WhereRow} row
 */
function receipt(row) {
  const [surface] = (row.conversation ?? "").split(":");
  const values = {
    surface: tOr(`surface.${surface}`, surface),
    at: row.sent_at ? formatTime(row.sent_at) : "",
    n: row.attempts,
    error: said(row, "error"),
  };
  if (row.state === "sent")
    return h(
      "span",
      { class: "receipt", title: row.message_id ?? "" },
      t(row.attempts > 1 ? "receipt.sent_after" : "receipt.sent", values),
    );
  if (row.state === "failed")
    return h("span", { class: "receipt is-bad", title: values.error }, t("receipt.failed", values));
  if (row.state === "pending" || row.state === "sending")
    return h("span", { class: "receipt", title: values.error }, t("receipt.pending", values));
  return null;
}
