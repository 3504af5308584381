// @ts-check
/** The header of a thread: its title, which can be edited in place, and the line below it. */

import { h, isComposing, setContent } from "/page/lib/dom.js";
import { folderName } from "/page/lib/format.js";
import { said, t, tOr } from "/page/lib/words.js";
import { statusBadge } from "/page/parts/list/thread_row.js";

/** @param {(title: string) => unknown} save */
export function titleLine(save) {
  const heading = h("h1", { tabindex: "-1" }, t("list.waiting"));
  const element = h("div", { class: "title-line" }, heading);
  let title = "";

  const show = (/** @type {string} */ text) => {
    title = text;
    setContent(button, text);
    if (!heading.contains(button)) setContent(heading, button); // a button that stays keeps its focus
  };
  const edit = () => {
    const field = h("input", {
      class: "title",
      type: "text",
      value: title,
      maxlength: "200",
      "aria-label": t("title.edit"),
    });
    let isOver = false;
    const finish = (/** @type {boolean} */ isSaved) => {
      if (isOver) return;
      isOver = true;
      const text = field.value.trim();
      setContent(element, heading);
      button.focus();
      if (isSaved && text && text !== title) save(text);
    };
    field.addEventListener("keydown", (event) => {
      if (isComposing(event)) return;
      if (event.key === "Enter") (event.preventDefault(), finish(true));
      if (event.key === "Escape") (event.stopPropagation(), finish(false));
    });
    field.addEventListener("blur", () => finish(true));
    setContent(element, field);
    field.focus();
    field.select();
  };
  const button = h("button", { class: "title", type: "button", title: t("title.edit"), onclick: edit });
  return { element, show, edit };
}

/**
 * Status, handle, agent, folder, policy, where it is bound, and what it was forked from.
 * @param {Thread} thread
 */
export function threadFacts(thread) {
  const agent = [thread.runtime, thread.model, thread.effort].filter(Boolean).join(" ");
  const bound = (thread.bound ?? []).map(({ conversation, drives, surface }) =>
    h(
      "span",
      { class: "where", title: conversation },
      t(drives ? "where.drives" : "where.follows", { surface: tOr(`surface.${surface}`, surface) }),
    ),
  );
  const policy = thread.policy_now ?? thread.policy;
  return [
    statusBadge(thread),
    thread.handle && h("code", { title: t("handle") }, thread.handle),
    h("span", {}, agent),
    h("span", { title: thread.workspace }, folderName(thread.workspace)),
    h("span", { title: said(thread, "policy_reason") || t(`policy.${policy}.words`) }, tOr(`policy.${policy}`, policy)),
    bound,
    thread.forked_from && h("a", { href: `#/threads/${thread.forked_from}`, "data-row": "source" }, t("forked")),
  ];
}
