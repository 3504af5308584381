/** A rule that comes with a yes: what it allows, where, and for how long. */

import { cap, h } from "/page/lib/dom.js";
import { folder } from "/page/lib/format.js";
import { t } from "/page/lib/words.js";

const HOUR = 3600;
export const SPANS = [
  ["rule.2h", 2 * HOUR],
  ["rule.day", 24 * HOUR],
  ["rule.ever", null],
];

export function ruleForm(gate, thread, give, cancel) {
  const pattern = h("input", {
    type: "text",
    required: true,
    spellcheck: "false",
    autocomplete: "off",
    value: gate.rule ?? plain(gate),
    "aria-describedby": "rule-hint",
  });
  const scope = choose("rule.where", [
    [t("rule.workspace", { folder: folder(thread?.workspace ?? "") }), "workspace"],
    [t("rule.thread"), "thread"],
    [t("rule.everywhere"), "everywhere"],
  ]);
  const lasts = choose(
    "rule.how_long",
    SPANS.map(([words, seconds]) => [t(words), String(seconds ?? "")]),
  );
  const onsubmit = (event) => {
    event.preventDefault();
    const seconds = Number(lasts.value);
    give({ pattern: pattern.value.trim(), scope: scope.value, ...(seconds ? { lasts: seconds } : {}) });
  };
  return h(
    "form",
    {
      class: "rule-form",
      "aria-label": t("rule.make"),
      onsubmit,
      onkeydown: (event) => event.key === "Escape" && cancel(event),
    },
    h("label", { class: "wide" }, h("span", {}, t("rule.allow")), pattern),
    h("label", {}, h("span", {}, t("rule.where")), scope),
    h("label", {}, h("span", {}, t("rule.how_long")), lasts),
    h("button", { class: "main", type: "submit" }, t("rule.make_and_allow"), cap("↵")),
    h("p", { class: "note", id: "rule-hint" }, t("rule.hint")),
  );
}

/** The beginning of a rule of one's own. A title with characters that deceive is none. */
const plain = ({ title, shown }) => (shown.title === title ? title.split("\n")[0] : "");

const choose = (name, options) =>
  h(
    "select",
    { "aria-label": t(name) },
    options.map(([words, value]) => h("option", { value }, words)),
  );
