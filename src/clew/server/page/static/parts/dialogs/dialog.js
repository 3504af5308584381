// @ts-check
/** Modal dialogs. Escape closes one, and the focus goes back to where it was. */

import { focused, h, icon } from "/page/lib/dom.js";
import { t } from "/page/lib/words.js";

/**
 * @param {string} title
 * @param {string} name for its class
 * @param {...Child} content
 * @returns {HTMLDialogElement} to be closed by `close()`
 */
export function openDialog(title, name, ...content) {
  const before = focused();
  /** @type {HTMLDialogElement} */
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

/**
 * Asks whether a person is sure. "No" has the focus, so Enter alone confirms nothing.
 * @param {string} question
 * @param {string} words what follows from a yes
 * @param {string} yes
 * @returns {Promise<boolean>}
 */
export function confirmInDialog(question, words, yes) {
  return new Promise((resolve) => {
    let isSure = false;
    const confirm = () => ((isSure = true), element.close());
    const element = openDialog(
      question,
      "sure",
      h("p", {}, words),
      h(
        "div",
        { class: "dialog-foot" },
        h(
          "button",
          { class: "plain", type: "button", "data-first": true, onclick: () => element.close() },
          t("sure.no"),
        ),
        h("button", { class: "main", type: "button", onclick: confirm }, yes),
      ),
    );
    element.addEventListener("close", () => resolve(isSure));
  });
}
