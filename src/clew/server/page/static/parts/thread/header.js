/** The head of a thread: its title, which can be changed where it stands, and the line below it. */

import { h, show } from "/page/lib/dom.js";
import { folder } from "/page/lib/format.js";
import { known, t } from "/page/lib/words.js";
import { status } from "/page/parts/list/thread_row.js";

/** `save` gets another title. */
export function titleLine(save) {
  const heading = h("h1", { tabindex: "-1" }, t("list.waiting"));
  const button = h("button", { class: "title", type: "button", title: t("title.edit"), onclick: () => element.edit() });
  const element = h("div", { class: "title-line" }, heading);
  let title = "";

  element.show = (words) => {
    title = words;
    show(button, words);
    if (!heading.contains(button)) show(heading, button); // a heading that stays keeps its focus
  };
  element.edit = () => {
    const field = h("input", {
      class: "title",
      type: "text",
      value: title,
      maxlength: "200",
      "aria-label": t("title.edit"),
    });
    let isOver = false;
    const end = (isKept) => {
      if (isOver) return;
      isOver = true;
      const words = field.value.trim();
      show(element, heading);
      button.focus();
      if (isKept && words && words !== title) save(words);
    };
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.isComposing) (event.preventDefault(), end(true));
      if (event.key === "Escape") (event.stopPropagation(), end(false));
    });
    field.addEventListener("blur", () => end(true));
    show(element, field);
    field.focus();
    field.select();
  };
  return element;
}

export function about(view) {
  const agent = [view.runtime, view.model, view.effort].filter(Boolean).join(" ");
  const bound = (view.bound ?? []).map((each) =>
    h(
      "span",
      { class: "where", title: each.conversation },
      t(each.drives ? "where.drives" : "where.follows", {
        surface: known(`surface.${each.surface}`, each.surface),
        name: each.name ?? "",
      }),
    ),
  );
  return [
    status(view),
    h("span", {}, agent),
    h("span", { title: view.workspace }, folder(view.workspace)),
    h("span", { title: t(`policy.${view.policy}.words`) }, known(`policy.${view.policy}`, view.policy)),
    bound,
    view.forked_from && h("a", { href: `#/threads/${view.forked_from}`, "data-row": "source" }, t("forked")),
  ];
}
