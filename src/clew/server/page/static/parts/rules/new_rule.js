/** A rule that is made by itself: what it does, to what, where, and for how long. */

import { post } from "/page/lib/api.js";
import { h, show } from "/page/lib/dom.js";
import { during, say } from "/page/lib/status_line.js";
import { threads } from "/page/lib/state.js";
import { t } from "/page/lib/words.js";
import { SPANS } from "/page/parts/rules/rule_form.js";

const choose = (label, names, words) =>
  h(
    "label",
    {},
    h("span", {}, t(label)),
    h(
      "select",
      {},
      names.map((name) => h("option", { value: name ?? "" }, words(name))),
    ),
  );

const LASTING = SPANS.map(([, seconds]) => seconds).toReversed();

const folders = () => new Set([...threads.values()].map((view) => view.workspace));

/** What can be chosen from, of what the page knows. */
const PLACES = {
  everywhere: () => [],
  workspace: () => [...folders()].map((each) => h("option", { value: each })),
  thread: () => [...threads.values()].map((view) => h("option", { value: view.id }, view.title || t("untitled"))),
};

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
  const scope = choose("rule.where", ["everywhere", "workspace", "thread"], (name) => t(`rule.scope.${name}`));
  const place = h("input", { type: "text", spellcheck: "false", autocomplete: "off", list: "rule-places" });
  const places = h("datalist", { id: "rule-places" });
  const placed = h("label", { class: "wide", hidden: true }, h("span", {}, t("rule.place")), place, places);
  const lasts = choose("rule.how_long", LASTING, (seconds) => t(SPANS.find(([, each]) => each === seconds)[0]));
  const chosen = (label) => label.querySelector("select").value;
  const onsubmit = async (event) => {
    event.preventDefault();
    const body = {
      effect: chosen(effect),
      kind: chosen(kind),
      pattern: pattern.value.trim(),
      scope: chosen(scope),
      place: placed.hidden ? "" : place.value.trim(),
      ...(Number(chosen(lasts)) ? { lasts: Number(chosen(lasts)) } : {}),
    };
    if (!(await during(t("saving"), post("/api/rules", body)))) return;
    say(t("rules.made", { pattern: body.pattern }));
    pattern.value = "";
    made();
  };
  scope.addEventListener("change", () => {
    placed.hidden = chosen(scope) === "everywhere";
    place.required = !placed.hidden;
    place.value = "";
    show(places, PLACES[chosen(scope)]());
  });
  return h(
    "form",
    { class: "new-rule", "aria-label": t("rules.add"), onsubmit },
    effect,
    kind,
    h("label", { class: "wide" }, h("span", {}, t("rule.pattern")), pattern),
    scope,
    placed,
    lasts,
    h("button", { class: "plain", type: "submit" }, t("rules.add")),
  );
}
