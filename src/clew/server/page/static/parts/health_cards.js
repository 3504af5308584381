// @ts-check
/** The cards of the view "health": daemon, runtimes, surfaces, deliveries, processes, handoffs, messages. What is in
 * trouble says why, and what to do about it. */

import { post } from "/page/lib/api.js";
import { h, withCode } from "/page/lib/dom.js";
import {
  formatAge,
  formatBytes,
  formatCompactNumber,
  formatDate,
  formatDuration,
  formatFullDate,
  formatNumber,
  formatTime,
} from "/page/lib/format.js";
import { threads } from "/page/lib/state.js";
import { showStatus, withStatus } from "/page/lib/status_line.js";
import { agentName, said, saidEach, t, tOr } from "/page/lib/words.js";

/** @param {Api.RuntimeView} runtime */
const isRuntimeTroubled = ({ health }) => health === "degraded";

/**
 * A surface that is up has a reason if there is something that it could not deliver.
 * @param {Api.SurfaceView} surface
 */
const isSurfaceTroubled = ({ state, reason }) => state === "down" || (state === "up" && Boolean(reason));

/**
 * @param {Api.StatusView} status
 * @param {Api.OwedView[]} outbox
 */
export const countTroubles = ({ runtimes, surfaces, daemon }, outbox) =>
  runtimes.filter(isRuntimeTroubled).length +
  surfaces.filter(isSurfaceTroubled).length +
  (daemon.left_out ?? []).length +
  outbox.filter(({ state }) => state === "failed").length;

/** @type {(title: string, ...content: Child[]) => HTMLElement} */
const card = (title, ...content) => h("section", { class: "card" }, h("h2", {}, title), ...content);
/** @type {(label: string, value: Child) => Child} */
const factRow = (label, value) =>
  value !== null && value !== undefined && value !== "" && h("div", {}, h("dt", {}, label), h("dd", {}, value));
/** @type {(state: string, label: string) => HTMLElement} */
const stateBadge = (state, label) => h("span", { class: `status is-${state}` }, h("span", { class: "dot" }), label);

/** @param {Api.DaemonView} daemon */
export function daemonCard(daemon) {
  const troubles = [
    ...(daemon.outdated ? [t("daemon.outdated")] : []),
    ...(daemon.supervised ? [] : [t("daemon.unsupervised")]),
    ...saidEach(daemon, "left_out"),
  ];
  return card(
    t("daemon"),
    h(
      "dl",
      { class: "facts" },
      factRow(t("daemon.version"), daemon.version),
      factRow(t("daemon.up"), formatAge(daemon.since)),
      factRow(t("daemon.recovered"), daemon.recovered_at && formatFullDate(daemon.recovered_at)),
      factRow("pid", String(daemon.pid)),
      factRow(t("daemon.home"), h("code", {}, daemon.home)),
    ),
    troubles.map((text) => h("p", { class: "trouble" }, withCode(text))),
  );
}

/** @param {Api.RuntimeView[]} runtimes */
export function runtimesCard(runtimes) {
  return card(
    t("runtimes"),
    h(
      "ul",
      { class: "states" },
      runtimes.map((each) =>
        h(
          "li",
          {},
          h("strong", {}, each.name),
          stateBadge(each.health, tOr(`health.${each.health}`, each.health)),
          each.pid && h("small", {}, `pid ${each.pid}`),
          reasonNote(said(each, "reason"), isRuntimeTroubled(each), t("runtimes.do", { name: each.name })),
        ),
      ),
    ),
  );
}

/** @param {Api.SurfaceView[]} surfaces */
export function surfacesCard(surfaces) {
  const row = (/** @type {Api.SurfaceView} */ each) =>
    h(
      "li",
      {},
      h("strong", {}, tOr(`surface.${each.name}`, each.name)),
      stateBadge(each.state, tOr(`surface.is.${each.state}`, each.state)),
      each.pending > 0 && h("small", {}, t("surfaces.pending", { n: each.pending })),
      reasonNote(said(each, "reason"), isSurfaceTroubled(each), each.state === "down" ? t("surfaces.do") : ""),
    );
  return card(
    t("surfaces"),
    surfaces.length
      ? h("ul", { class: "states" }, surfaces.map(row))
      : h("p", { class: "note" }, withCode(t("surfaces.none"))),
  );
}

/** @type {(reason: string, isTrouble: boolean, advice: string) => Child} */
const reasonNote = (reason, isTrouble, advice) =>
  reason &&
  h(
    "p",
    { class: isTrouble ? "trouble" : "note" },
    withCode(reason),
    isTrouble && advice ? [" ", h("span", { class: "advice" }, withCode(advice))] : null,
  );

/**
 * @param {Api.OwedView[]} deliveries
 * @param {() => unknown} onRetried
 */
export function outboxCard(deliveries, onRetried) {
  const retry = async () => {
    /** @type {Api.Notified[] | undefined} */
    const retried = await withStatus(t("outbox.waits"), post("/api/notify", { retry_failed: true }));
    if (retried) showStatus(t("outbox.tried", { n: retried.length }));
    onRetried();
  };
  const row = (/** @type {Api.OwedView} */ each) =>
    h(
      "li",
      { "data-row": each.delivery },
      h(
        "a",
        { href: `#/threads/${each.thread}` },
        tOr(`surface.${(each.conversation ?? "").split(":")[0]}`, each.conversation ?? ""),
      ),
      stateBadge(each.state, tOr(`delivery.${each.state}`, each.state)),
      h("small", {}, t("outbox.attempts", { n: each.attempts })),
      each.next_at && each.state === "pending" && h("small", {}, t("outbox.next", { at: formatTime(each.next_at) })),
      each.error && h("p", { class: "trouble" }, said(each, "error")),
    );
  const hasFailed = deliveries.some((each) => each.state === "failed");
  return card(
    t("outbox"),
    deliveries.length
      ? h("ul", { class: "states" }, deliveries.slice(0, 20).map(row))
      : h("p", { class: "note" }, t("outbox.empty")),
    hasFailed &&
      h("button", { class: "plain", type: "button", "data-row": "retry", onclick: retry }, t("outbox.retry")),
  );
}

/** @param {Api.ProcessView[]} processes */
export function processesCard(processes) {
  const row = (/** @type {Api.ProcessView} */ each) =>
    h(
      "li",
      { "data-row": `pid ${each.pid}` },
      h("code", { title: each.command }, each.role),
      h("small", {}, `pid ${each.pid}`),
      each.rss > 0 && h("small", {}, formatBytes(each.rss)),
      h("small", {}, formatAge(Date.now() - each.age * 1000)),
      each.threads.map((thread) =>
        h("a", { href: `#/threads/${thread}` }, threads.get(thread)?.title ?? t("gate.thread")),
      ),
    );
  return card(
    t("children"),
    processes.length ? h("ul", { class: "states" }, processes.map(row)) : h("p", { class: "note" }, t("children.none")),
  );
}

/** @param {Api.HandoffView[]} handoffs */
export function handoffsCard(handoffs) {
  const row = (/** @type {Api.HandoffView} */ each) =>
    h(
      "li",
      { "data-row": each.id },
      h("a", { href: `#/threads/${each.thread}` }, threads.get(each.thread)?.title || t("gate.thread")),
      h("span", {}, `→ ${tOr(`surface.${each.surface}`, each.surface)}`),
      stateBadge(each.state, tOr(`handoff.is.${each.state}`, each.state)),
      h("small", {}, formatDate(each.requested_at)),
      each.error && h("p", { class: "trouble" }, said(each, "error")),
    );
  return card(t("handoffs"), h("ul", { class: "states" }, handoffs.map(row)));
}

/** @param {Record<string, number>} fates how many messages had each fate */
export function messagesCard(fates) {
  return card(
    t("messages"),
    h(
      "dl",
      { class: "facts" },
      Object.entries(fates).map(([fate, count]) => factRow(tOr(`fate.name.${fate}`, fate), formatNumber(count))),
    ),
  );
}

/**
 * What is known of the usage limits of each agent's account.
 * @param {Api.LimitView[]} limits
 */
export function limitsCard(limits) {
  const row = (/** @type {Api.LimitView} */ each) =>
    h(
      "li",
      { "data-row": `${each.runtime} ${each.window}` },
      h("strong", {}, agentName(each.runtime)),
      h("span", {}, tOr(`limits.window.${each.window}`, each.window)),
      each.used !== null && h("span", {}, t("limits.used", { percent: Math.round(each.used * 100) })),
      each.status !== "ok" && stateBadge(LIMIT_BADGES[each.status] ?? "idle", tOr(`limits.${each.status}`, each.status)),
      each.resets_at && each.resets_at > Date.now() && h("small", {}, t("limits.resets", { at: formatDate(each.resets_at) })),
    );
  return card(
    t("limits"),
    limits.length ? h("ul", { class: "states" }, limits.map(row)) : h("p", { class: "note" }, t("limits.none")),
  );
}

/** @type {Record<string, string>} */
const LIMIT_BADGES = { reached: "suspended", warning: "waiting" };

/**
 * What each account used today, and the budgets that hold.
 * @param {Api.UsageView} usage
 */
export function usageCard({ rows, budgets }) {
  const used = rows.map((/** @type {Api.UsageRow} */ row) => factRow(row.label, usedAmount(row)));
  const limits = budgets.map((/** @type {Api.BudgetRow} */ each) =>
    factRow(
      t("usage.budget", { name: budgetName(each) }),
      t("usage.of", { used: budgetAmount(each.measure, each.used), limit: budgetAmount(each.measure, each.limit) }),
    ),
  );
  const facts = h("dl", { class: "facts" }, used, limits);
  return card(t("usage"), rows.length + budgets.length ? facts : h("p", { class: "note" }, t("usage.none")));
}

/** @param {Api.UsageRow} row */
const usedAmount = ({ turns, tokens, reported }) => {
  const counts = { turns: formatNumber(turns), tokens: formatCompactNumber(tokens) };
  return reported ? t("usage.row_cost", { ...counts, cost: reported.toFixed(2) }) : t("usage.row", counts);
};
/** @param {Api.BudgetRow} budget */
const budgetName = ({ scope, name }) =>
  scope === "thread" ? (threads.get(name)?.title ?? name) : name || t("usage.of_day");
/** @type {(measure: string, value: number) => string} */
const budgetAmount = (measure, value) => (measure === "time" ? formatDuration(value) : formatCompactNumber(value));
