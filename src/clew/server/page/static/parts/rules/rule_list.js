/** The rules that answer for a person: look at them, remove one, and put it back. */

import { get, post, remove } from "/page/lib/api.js";
import { h, redraw } from "/page/lib/dom.js";
import { folder, when } from "/page/lib/format.js";
import { soon } from "/page/lib/emitter.js";
import { during, say } from "/page/lib/status_line.js";
import { things, threads } from "/page/lib/state.js";
import { known, t } from "/page/lib/words.js";
import { newRule } from "/page/parts/rules/new_rule.js";
import { tryRules } from "/page/parts/rules/try_rules.js";

export function rules() {
  const list = h("ul", { class: "rules" });
  const fold = h(
    "details",
    { class: "fold" },
    h("summary", {}, t("rules")),
    h("p", { class: "note" }, t("rules.words")),
    list,
    newRule(() => draw()),
    tryRules(),
  );
  const draw = async () => {
    if (!fold.open) return;
    try {
      const found = await get("/api/rules");
      redraw(list, found.length ? found.map((rule) => row(rule, draw)) : h("li", { class: "note" }, t("rules.none")));
    } catch (error) {
      redraw(list, h("li", { class: "note" }, error.message));
    }
  };
  const off = things.on(
    "waiting",
    soon(() => (fold.isConnected ? draw() : off()), 300),
  );
  fold.addEventListener("toggle", draw);
  return fold;
}

function row(rule, draw) {
  const take = async () => {
    if (!(await during(t("saving"), remove(`/api/rules/${rule.id}`)))) return;
    say(t("rules.removed", { pattern: rule.shown }), rule.kind === "exact" ? null : () => putBack(rule).then(draw));
    draw();
  };
  return h(
    "li",
    { "data-row": rule.id },
    h("span", { class: `effect is-${rule.effect}` }, known(`effect.${rule.effect}`, rule.effect)),
    h("code", {}, rule.shown),
    h(
      "span",
      { class: "note" },
      [place(rule), rule.until ? t("rule.until", { when: when(rule.until) }) : t("rule.ever")].join(" · "),
    ),
    h(
      "button",
      { class: "link", type: "button", "aria-label": t("rules.remove_this", { pattern: rule.shown }), onclick: take },
      t("rules.remove"),
    ),
  );
}

function place(rule) {
  if (rule.scope === "workspace") return t("rule.workspace", { folder: folder(rule.place) });
  if (rule.scope === "thread") return threads.get(rule.place)?.title ?? t("rule.thread");
  return t("rule.everywhere");
}

function putBack({ effect, pattern, kind, scope, place: where, until }) {
  const lasts = until ? { lasts: Math.max(1, (until - Date.now()) / 1000) } : {};
  return during(t("saving"), post("/api/rules", { effect, pattern, kind, scope, place: where, ...lasts }));
}
