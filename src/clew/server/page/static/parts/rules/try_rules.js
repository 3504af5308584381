/** What the rules would say to a command, a change or a tool; nothing is run. */

import { post } from "/page/lib/api.js";
import { h, show } from "/page/lib/dom.js";
import { during } from "/page/lib/status_line.js";
import { known, t } from "/page/lib/words.js";

const field = (more) => h("input", { type: "text", required: true, spellcheck: "false", autocomplete: "off", ...more });

export function tryRules() {
  const subject = field({ placeholder: "pytest -q" });
  const workspace = field({ placeholder: t("new.workspace.hint") });
  const kinds = ["command", "change", "tool"].map((name) => h("option", { value: name }, t(`rule.of.${name}`)));
  const kind = h("select", {}, kinds);
  const verdict = h("p", { class: "note", role: "status" });
  const onsubmit = async (event) => {
    event.preventDefault();
    const body = { subject: subject.value, kind: kind.value, workspace: workspace.value.trim() };
    const found = await during(t("saving"), post("/api/rules/test", body));
    if (found) show(verdict, h("strong", {}, known(`effect.${found.effect}`, found.effect)), ` · ${found.why}`);
  };
  const labelled = (words, element) => h("label", {}, h("span", {}, t(words)), element);
  return h(
    "form",
    { class: "new-rule", "aria-label": t("rules.try"), onsubmit },
    labelled("rules.try.what", subject),
    labelled("new.kind", kind),
    labelled("new.workspace", workspace),
    h("button", { class: "plain", type: "submit" }, t("rules.try")),
    verdict,
  );
}
