// @ts-check
/** The form that makes a rule: its effect, kind, pattern, scope and duration. */

import { post } from "/page/lib/api.js";
import { h, setContent } from "/page/lib/dom.js";
import { threads } from "/page/lib/state.js";
import { showStatus, withStatus } from "/page/lib/status_line.js";
import { t } from "/page/lib/words.js";
import { DURATIONS } from "/page/parts/rules/rule_form.js";

/**
 * @param {string} label
 * @param {{ value: string, label: string }[]} options
 */
function labelledSelect(label, options) {
  const select = h(
    "select",
    {},
    options.map(({ value, label }) => h("option", { value }, label)),
  );
  return { select, element: h("label", {}, h("span", {}, label), select) };
}

/** @type {(values: string[], labelOf: (value: string) => string) => { value: string, label: string }[]} */
const labelAll = (values, labelOf) => values.map((value) => ({ value, label: labelOf(value) }));

/**
 * Suggestions for the workspace or the thread of a rule: those that the page knows.
 * @param {string} scope
 */
function placeOptions(scope) {
  const known = [...threads.values()];
  if (scope === "thread") return known.map(({ id, title }) => h("option", { value: id }, title || t("untitled")));
  const workspaces = new Set(known.map((thread) => thread.workspace));
  return scope === "workspace" ? [...workspaces].map((path) => h("option", { value: path })) : [];
}

/** @param {() => unknown} onMade */
export function newRuleForm(onMade) {
  const effects = labelAll(["allow", "ask", "deny"], (name) => t(`effect.${name}`));
  const kinds = labelAll(["command", "change", "tool"], (name) => t(`rule.of.${name}`));
  const scopes = labelAll(["everywhere", "workspace", "thread"], (name) => t(`rule.scope.${name}`));
  const effect = labelledSelect(t("rule.effect"), effects);
  const kind = labelledSelect(t("rule.kind"), kinds);
  const scope = labelledSelect(t("rule.where"), scopes);
  const durations = DURATIONS.map(({ name, seconds }) => ({ value: String(seconds ?? ""), label: t(name) }));
  const duration = labelledSelect(t("rule.how_long"), durations.toReversed());
  const pattern = h("input", {
    type: "text",
    required: true,
    spellcheck: "false",
    autocomplete: "off",
    placeholder: "pytest *",
  });
  const place = h("input", { type: "text", spellcheck: "false", autocomplete: "off", list: "rule-places" });
  const places = h("datalist", { id: "rule-places" });
  const placeLabel = h("label", { class: "wide", hidden: true }, h("span", {}, t("rule.place")), place, places);
  const onsubmit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const seconds = Number(duration.select.value);
    const body = {
      effect: effect.select.value,
      kind: kind.select.value,
      pattern: pattern.value.trim(),
      scope: scope.select.value,
      place: placeLabel.hidden ? "" : place.value.trim(),
      ...(seconds ? { lasts: seconds } : {}),
    };
    if (!(await withStatus(t("saving"), post("/api/rules", body)))) return;
    showStatus(t("rules.made", { pattern: body.pattern }));
    pattern.value = "";
    onMade();
  };
  scope.select.addEventListener("change", () => {
    placeLabel.hidden = scope.select.value === "everywhere";
    place.required = !placeLabel.hidden;
    place.value = "";
    setContent(places, placeOptions(scope.select.value));
  });
  return h(
    "form",
    { class: "new-rule", "aria-label": t("rules.add"), onsubmit },
    effect.element,
    kind.element,
    h("label", { class: "wide" }, h("span", {}, t("rule.pattern")), pattern),
    scope.element,
    placeLabel,
    duration.element,
    h("button", { class: "plain", type: "submit" }, t("rules.add")),
  );
}
