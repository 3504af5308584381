/** Take over a session that was begun outside clew, in an agent's own program. */

import { get, post } from "/page/lib/api.js";
import { h, show } from "/page/lib/dom.js";
import { folder, when } from "/page/lib/format.js";
import { during } from "/page/lib/status_line.js";
import { t } from "/page/lib/words.js";
import { dialog } from "/page/parts/dialogs/dialog.js";

export const adoptButton = () =>
  h("p", { class: "note" }, h("button", { class: "link", type: "button", onclick: open }, t("adopt.offer")));

const POLICIES = ["careful", "trusted", "read-only", "yolo"];

async function open() {
  const list = h("ul", { class: "sessions" }, h("li", { class: "waits" }, t("adopt.looking")));
  const policies = POLICIES.map((each) => h("option", { value: each }, t(`policy.${each}`)));
  const policy = h("select", {}, h("option", { value: "" }, t("new.default")), policies);
  const workspace = h("input", { type: "text", spellcheck: "false", placeholder: t("adopt.workspace") });
  const element = dialog(
    t("adopt.title"),
    "adopt",
    h("p", { class: "note" }, t("adopt.words")),
    h(
      "div",
      { class: "start-more" },
      h("label", {}, h("span", {}, t("new.by.policy")), policy),
      h("label", {}, h("span", {}, t("new.by.workspace")), workspace),
    ),
    list,
  );
  const chosen = () => ({ policy: policy.value || null, workspace: workspace.value.trim() || null });
  try {
    const found = await get("/api/adoptable?limit=50");
    show(
      list,
      found.length ? found.map((session) => row(session, element, chosen)) : h("li", { class: "note" }, t("adopt.none")),
    );
    list.querySelector("button")?.focus();
  } catch (error) {
    show(list, h("li", { class: "note" }, error.message));
  }
}

function row(session, element, chosen) {
  const take = async (fork) => {
    const view = await during(
      t("adopt.taking"),
      post("/api/adoptions", { session: session.id, runtime: session.runtime, fork, ...chosen() }),
    );
    if (!view) return;
    element.close();
    location.hash = `#/threads/${view.id}`;
  };
  return h(
    "li",
    {},
    h("span", { class: "row-title" }, session.title || t("untitled")),
    h(
      "span",
      { class: "note" },
      [
        session.runtime,
        folder(session.workspace),
        when(session.updated_at),
        session.in_use && t("adopt.in_use", { by: session.in_use }),
      ]
        .filter(Boolean)
        .join(" · "),
    ),
    h(
      "span",
      { class: "row-buttons" },
      h("button", { class: "plain", type: "button", onclick: () => take(false) }, t("adopt.take")),
      h("button", { class: "link", type: "button", onclick: () => take(true) }, t("adopt.copy")),
    ),
  );
}
