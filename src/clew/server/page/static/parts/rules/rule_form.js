// @ts-check
/** The form of the rule that is made together with an answer: its pattern, scope and duration. */

import { h, isComposing, keyCap } from "/page/lib/dom.js";
import { folderName } from "/page/lib/format.js";
import { t } from "/page/lib/words.js";

const HOUR = 3600;

/** @type {{ name: string, seconds: number | null }[]} how long a rule holds, with the name of its text */
export const DURATIONS = [
  { name: "rule.2h", seconds: 2 * HOUR },
  { name: "rule.day", seconds: 24 * HOUR },
  { name: "rule.ever", seconds: null },
];

/** @type {Record<Gate["kind"], string>} an example of a pattern, for each kind of gate */
const PLACEHOLDERS = { command: "pytest *", change: "src/**", permission: "github.*", question: "" };

/** @typedef {{ pattern: string, scope: Api.Answer["scope"], lasts?: number }} RuleOfAnswer */

/**
 * @param {Gate} gate
 * @param {Thread | undefined} thread
 * @param {(rule: RuleOfAnswer) => unknown} submit
 * @param {(event: Event) => unknown} cancel
 */
export function ruleForm(gate, thread, submit, cancel) {
  const pattern = h("input", {
    type: "text",
    required: true,
    spellcheck: "false",
    autocomplete: "off",
    // Never the request itself: a `*` in it would mean anything in a pattern.
    value: gate.rule ?? "",
    placeholder: PLACEHOLDERS[gate.kind],
    "aria-describedby": "rule-hint",
  });
  const scope = labelledSelect("rule.where", [
    [t("rule.workspace", { folder: folderName(thread?.workspace) }), "workspace"],
    [t("rule.thread"), "thread"],
    [t("rule.everywhere"), "everywhere"],
  ]);
  const duration = labelledSelect(
    "rule.how_long",
    DURATIONS.map(({ name, seconds }) => [t(name), String(seconds ?? "")]),
  );
  const onsubmit = (/** @type {Event} */ event) => {
    event.preventDefault();
    const seconds = Number(duration.value);
    const chosenScope = /** @type {RuleOfAnswer["scope"]} */ (scope.value);
    submit({ pattern: pattern.value.trim(), scope: chosenScope, ...(seconds ? { lasts: seconds } : {}) });
  };
  const onkeydown = (/** @type {KeyboardEvent} */ event) => event.key === "Escape" && !isComposing(event) && cancel(event);
  return h(
    "form",
    { class: "rule-form", "aria-label": t("rule.make"), onsubmit, onkeydown },
    h("label", { class: "wide" }, h("span", {}, t("rule.allow")), pattern),
    h("label", {}, h("span", {}, t("rule.where")), scope),
    h("label", {}, h("span", {}, t("rule.how_long")), duration),
    h("button", { class: "main", type: "submit" }, t("rule.make_and_allow"), keyCap("↵")),
    h("p", { class: "note", id: "rule-hint" }, t("rule.hint")),
  );
}

/**
 * @param {string} label
 * @param {[label: string, value: string][]} options
 */
const labelledSelect = (label, options) =>
  h(
    "select",
    { "aria-label": t(label) },
    options.map(([label, value]) => h("option", { value }, label)),
  );
