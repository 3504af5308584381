/** What few people want to know of a thread: its ids, how each agent stands to it, and the receipts of all that it sent. */

import { get } from "/page/lib/api.js";
import { h, show } from "/page/lib/dom.js";
import { whole } from "/page/lib/format.js";
import { known, t } from "/page/lib/words.js";
import { dialog } from "/page/parts/dialogs/dialog.js";

const SHOWN = 50; // receipts, the newest

export async function details(view) {
  const more = h("div", { class: "details-more", "aria-busy": "true" }, h("p", { class: "waits" }, t("list.waiting")));
  dialog(t("details"), "details", facts(view), more);
  const path = `/api/threads/${view.id}`;
  try {
    const [bonds, rows] = await Promise.all([get(`${path}/continuity`), get(`${path}/deliveries`)]);
    show(more, agents(bonds), receipts(rows));
  } catch (error) {
    show(more, h("p", { class: "note" }, error.message));
  }
  more.removeAttribute("aria-busy");
}

const code = (text) => text && h("code", {}, text);
const at = (time) => time && whole(time);

function facts(view) {
  const rows = [
    [t("details.id"), code(view.id)],
    [t("details.turn"), code(view.turn)],
    [t("details.head"), code(view.head)],
    [t("new.by.kind"), known(`kind.${view.kind}`, view.kind)],
    [t("new.by.workspace"), code(view.workspace)],
    [t("details.adopted"), code(view.adopted)],
    [t("details.created"), at(view.created_at)],
    [t("details.completed"), at(view.completed_at)],
  ];
  const fact = ([name, value]) => value && h("div", {}, h("dt", {}, name), h("dd", {}, value));
  return h("dl", { class: "facts" }, rows.map(fact));
}

/** Those that have met the thread. */
function agents(bonds) {
  const row = (bond) =>
    h(
      "li",
      {},
      h("strong", {}, bond.runtime),
      h("span", {}, known(`bond.${bond.status}`, bond.status)),
      bond.restarts > 0 && h("span", {}, t("bond.restarts", { n: bond.restarts })),
      h("small", {}, at(bond.used_at)),
      bond.status === "error" && h("p", { class: "trouble" }, bond.reason),
    );
  const met = bonds.filter((bond) => bond.status);
  return met.length > 0 && [h("h3", {}, t("details.agents")), h("ul", { class: "states" }, met.map(row))];
}

function receipts(rows) {
  const newest = rows.slice(-SHOWN).reverse();
  return newest.length > 0 && [h("h3", {}, t("details.receipts")), h("ul", { class: "states" }, newest.map(receipt))];
}

function receipt(row) {
  const surface = (row.conversation ?? "").split(":")[0];
  return h(
    "li",
    {},
    h("strong", { title: row.conversation }, surface ? known(`surface.${surface}`, surface) : t("details.here")),
    h("span", {}, known(`delivery.${row.state}`, row.state)),
    row.attempts > 0 && h("span", {}, t("outbox.attempts", { n: row.attempts })),
    row.sent_at && h("small", {}, at(row.sent_at)),
    row.message_id && h("small", {}, trace(surface, row.message_id)),
    h("small", {}, code(row.delivery)),
    row.error && h("p", { class: "trouble" }, row.error),
  );
}

/** The platform's own id of it; on this machine, where it was shown. */
const trace = (surface, message) =>
  (surface === "local" && known(`shown.${message}`, null)) || t("details.message", { id: message });
