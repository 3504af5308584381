/** A room of its own above the page. Escape closes it, and the focus goes back to where it was. */

import { h, icon } from "/page/lib/dom.js";
import { t } from "/page/lib/words.js";

/** Gives the element; `close()` it when done. */
export function dialog(title, name, ...content) {
  const before = document.activeElement;
  const element = h(
    "dialog",
    { class: `dialog dialog-${name}`, "aria-labelledby": `dialog-${name}` },
    h(
      "header",
      {},
      h("h2", { id: `dialog-${name}` }, title),
      h(
        "button",
        { class: "quiet", type: "button", "aria-label": t("close"), onclick: () => element.close() },
        icon("close"),
      ),
    ),
    content,
  );
  element.addEventListener("click", (event) => event.target === element && element.close());
  element.addEventListener("close", () => {
    element.remove();
    if (before?.isConnected) before.focus();
  });
  document.body.append(element);
  element.showModal();
  (element.querySelector("[data-first]") ?? element.querySelector("input, select, textarea"))?.focus();
  return element;
}

/** Whether a person is sure. Who only presses Enter is not. */
export function sure(question, yes) {
  return new Promise((resolve) => {
    let isSure = false;
    const button = h(
      "button",
      { class: "main", type: "button", onclick: () => ((isSure = true), element.close()) },
      yes,
    );
    const element = dialog(
      question,
      "sure",
      h(
        "div",
        { class: "dialog-foot" },
        h("button", { class: "plain", type: "button", "data-first": true, onclick: () => element.close() }, t("sure.no")),
        button,
      ),
    );
    element.addEventListener("close", () => resolve(isSure));
  });
}
