/** A rule that is made by itself: what it does, to what, and where. */

import { post } from "/page/lib/api.js";
import { h } from "/page/lib/dom.js";
import { during, say } from "/page/lib/say.js";
import { t } from "/page/lib/words.js";

const choose = (label, names, words) =>
  h(
    "label",
    {},
    h("span", {}, t(label)),
    h(
      "select",
      {},
      names.map((name) => h("option", { value: name }, words(name))),
    ),
  );

/** `made` hears of it. */
export function newRule(made) {
  const effect = choose("rule.effect", ["allow", "ask", "deny"], (name) => t(`effect.${name}`));
  const kind = choose("rule.kind", ["command", "change", "tool"], (name) => t(`rule.of.${name}`));
  const pattern = h("input", {
    type: "text",
    required: true,
    spellcheck: "false",
    autocomplete: "off",
    placeholder: "pytest *",
  });
  const place = h("input", {
    type: "text",
    spellcheck: "false",
    autocomplete: "off",
    placeholder: t("rule.everywhere"),
  });
  const chosen = (label) => label.querySelector("select").value;
  const onsubmit = async (event) => {
    event.preventDefault();
    const where = place.value.trim();
    const scope = where ? { scope: "workspace", place: where } : { scope: "everywhere" };
    const body = { effect: chosen(effect), kind: chosen(kind), pattern: pattern.value.trim(), ...scope };
    if (!(await during(t("saving"), post("/api/rules", body)))) return;
    say(t("rules.made", { pattern: body.pattern }));
    pattern.value = "";
    made();
  };
  return h(
    "form",
    { class: "new-rule", "aria-label": t("rules.add"), onsubmit },
    effect,
    kind,
    h("label", { class: "wide" }, h("span", {}, t("rule.pattern")), pattern),
    h("label", { class: "wide" }, h("span", {}, t("new.workspace")), place),
    h("button", { class: "plain", type: "submit" }, t("rules.add")),
  );
}
