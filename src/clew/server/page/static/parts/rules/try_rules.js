// @ts-check
/** The form that tells what the rules would decide about a command, a change or a tool. Nothing is run. */

import { get, post } from "/page/lib/api.js";
import { h, setContent } from "/page/lib/dom.js";
import { withStatus } from "/page/lib/status_line.js";
import { said, t, tOr } from "/page/lib/words.js";

/** @param {string} placeholder */
const field = (placeholder) =>
  h("input", { type: "text", required: true, spellcheck: "false", autocomplete: "off", placeholder });

export function tryRulesForm() {
  const subject = field("pytest -q");
  const workspace = field(t("new.workspace.hint"));
  const kinds = ["command", "change", "tool"].map((name) => h("option", { value: name }, t(`rule.of.${name}`)));
  const kind = h("select", {}, kinds);
  get("/api/choices").then(
    (/** @type {Api.ChoicesView} */ { workspaces, default_workspace: own }) => (workspace.value ||= workspaces[0] ?? own),
    () => {}, // then it is typed
  );
  const verdict = h("p", { class: "note", role: "status" });
  const onsubmit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const body = { subject: subject.value, kind: kind.value, workspace: workspace.value.trim() };
    /** @type {Api.clew_model_gate_views_RuleTest | undefined} */
    const found = await withStatus(t("saving"), post("/api/rules/test", body));
    if (!found) return;
    const reasons = [said(found, "why"), said(found, "note")].filter(Boolean);
    setContent(verdict, h("strong", {}, tOr(`effect.${found.effect}`, found.effect)), ` · ${reasons.join(" · ")}`);
  };
  return h(
    "form",
    { class: "new-rule", "aria-label": t("rules.try"), onsubmit },
    h("label", {}, h("span", {}, t("rules.try.what")), subject),
    h("label", {}, h("span", {}, t("new.by.kind")), kind),
    h("label", {}, h("span", {}, t("new.by.workspace")), workspace),
    h("button", { class: "plain", type: "submit" }, t("rules.try")),
    verdict,
  );
}
