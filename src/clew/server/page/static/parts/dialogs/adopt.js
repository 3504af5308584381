// @ts-check
/** The dialog that takes over a session which was begun outside clew, in an agent's own program. */

import { get, messageOf, post } from "/page/lib/api.js";
import { h, setContent } from "/page/lib/dom.js";
import { folderName, formatDate } from "/page/lib/format.js";
import { withStatus } from "/page/lib/status_line.js";
import { t } from "/page/lib/words.js";
import { openDialog } from "/page/parts/dialogs/dialog.js";

export const adoptButton = () =>
  h("p", { class: "note" }, h("button", { class: "link", type: "button", onclick: openAdoptDialog }, t("adopt.offer")));

const POLICIES = ["careful", "sandbox", "trusted", "read-only", "yolo"];

async function openAdoptDialog() {
  const list = h("ul", { class: "sessions" }, h("li", { class: "waits" }, t("adopt.looking")));
  const policies = POLICIES.map((name) => h("option", { value: name }, t(`policy.${name}`)));
  const policy = h("select", {}, h("option", { value: "" }, t("new.default")), policies);
  const workspace = h("input", { type: "text", spellcheck: "false", placeholder: t("adopt.workspace") });
  const element = openDialog(
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
  /** @type {(session: Api.AdoptableView, fork: boolean) => Promise<void>} */
  const adopt = async ({ id, runtime }, fork) => {
    const chosen = { policy: policy.value || null, workspace: workspace.value.trim() || null };
    /** @type {Thread | undefined} */
    const thread = await withStatus(
      t("adopt.taking"),
      post("/api/adoptions", { session: id, runtime, fork, ...chosen }),
    );
    if (!thread) return;
    element.close();
    location.hash = `#/threads/${thread.id}`;
  };
  try {
    /** @type {Api.AdoptableView[]} */
    const sessions = await get("/api/adoptable?limit=50");
    const rows = sessions.map((session) => row(session, adopt));
    setContent(list, rows.length ? rows : h("li", { class: "note" }, t("adopt.none")));
    list.querySelector("button")?.focus();
  } catch (error) {
    setContent(list, h("li", { class: "note" }, messageOf(error)));
  }
}

/**
 * @param {Api.AdoptableView} session
 * @param {(session: Api.AdoptableView, fork: boolean) => unknown} adopt
 */
function row(session, adopt) {
  const facts = [
    session.runtime,
    folderName(session.workspace),
    formatDate(session.updated_at),
    session.in_use && t("adopt.in_use", { by: session.in_use }),
  ];
  return h(
    "li",
    {},
    h("span", { class: "row-title" }, session.title || t("untitled")),
    h("span", { class: "note" }, facts.filter(Boolean).join(" · ")),
    h(
      "span",
      { class: "row-buttons" },
      h("button", { class: "plain", type: "button", onclick: () => adopt(session, false) }, t("adopt.take")),
      h("button", { class: "link", type: "button", onclick: () => adopt(session, true) }, t("adopt.copy")),
    ),
  );
}
