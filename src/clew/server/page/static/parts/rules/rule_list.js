// @ts-check
/** The list of rules, each of which can be removed and restored. */

import { get, messageOf, post, remove } from "/page/lib/api.js";
import { h, redrawContent } from "/page/lib/dom.js";
import { folderName, formatDate } from "/page/lib/format.js";
import { changes, threads } from "/page/lib/state.js";
import { showStatus, withStatus } from "/page/lib/status_line.js";
import { coalesce } from "/page/lib/timing.js";
import { said, t, tOr } from "/page/lib/words.js";
import { newRuleForm } from "/page/parts/rules/new_rule.js";
import { tryRulesForm } from "/page/parts/rules/try_rules.js";

export function newRuleList() {
  const list = h("ul", { class: "rules" });
  const details = h(
    "details",
    { class: "fold" },
    h("summary", {}, t("rules")),
    h("p", { class: "note" }, t("rules.words")),
    list,
    newRuleForm(() => draw()),
    tryRulesForm(),
  );
  const draw = async () => {
    if (!details.open) return;
    try {
      /** @type {Api.RuleView[]} */
      const rules = await get("/api/rules");
      const rows = rules.map((rule) => row(rule, draw));
      redrawContent(list, rows.length ? rows : h("li", { class: "note" }, t("rules.none")));
    } catch (error) {
      redrawContent(list, h("li", { class: "note" }, messageOf(error)));
    }
  };
  const drawSoon = coalesce(() => (details.isConnected ? draw() : stopListening()), 300);
  const stopListening = changes.on("waiting", drawSoon);
  details.addEventListener("toggle", draw);
  return details;
}

/**
 * @param {Api.RuleView} rule
 * @param {() => unknown} redraw
 */
function row(rule, redraw) {
  const removeIt = async () => {
    if (!(await withStatus(t("saving"), remove(`/api/rules/${rule.id}`)))) return;
    const undo = () => restoreRule(rule).then(redraw);
    showStatus(t("rules.removed", { pattern: said(rule, "shown") }), rule.kind === "exact" ? null : undo);
    redraw();
  };
  const until = rule.until ? t("rule.until", { when: formatDate(rule.until) }) : t("rule.ever");
  const label = t("rules.remove_this", { pattern: said(rule, "shown") });
  return h(
    "li",
    { "data-row": rule.id },
    h("span", { class: `effect is-${rule.effect}` }, tOr(`effect.${rule.effect}`, rule.effect)),
    h("code", {}, said(rule, "shown")),
    h("span", { class: "note" }, [scopeName(rule), until].join(" · ")),
    h("button", { class: "link", type: "button", "aria-label": label, onclick: removeIt }, t("rules.remove")),
  );
}

/** @param {Api.RuleView} rule */
function scopeName(rule) {
  if (rule.scope === "workspace") return t("rule.workspace", { folder: folderName(rule.place) });
  if (rule.scope === "thread") return threads.get(rule.place)?.title ?? t("rule.thread");
  return t("rule.everywhere");
}

/** @param {Api.RuleView} rule */
function restoreRule({ effect, pattern, kind, scope, place, until }) {
  const lasts = until ? { lasts: Math.max(1, (until - Date.now()) / 1000) } : {};
  return withStatus(t("saving"), post("/api/rules", { effect, pattern, kind, scope, place, ...lasts }));
}
