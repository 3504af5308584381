// @ts-check
/** The line at the bottom of the page: what is being done, what was done and how to undo it, and errors. Screen readers
 * read it out. */

import { messageOf, Unreachable } from "/page/lib/api.js";
import { h, icon, setContent } from "/page/lib/dom.js";
import { t } from "/page/lib/words.js";

const SHOWN_FOR = 6_000; // milliseconds
const SHOWN_FOR_WITH_UNDO = 12_000;
const SHOW_PROGRESS_AFTER = 150;

const line = h("div", { class: "status-line", role: "status", "aria-live": "polite" });
const alert = h("div", { class: "status-line status-alert", role: "alert" });
const unseen = h("div", { class: "unseen", role: "status", "aria-live": "polite" });
export const statusElement = h("div", { class: "status-lines" }, line, alert, unseen);

/**
 * For screen readers only.
 * @param {string} text
 */
export const announce = (text) => setContent(unseen, text);

/** @type {number | undefined} */
let timer;

/**
 * Something was done; `undo` undoes it.
 * @param {string} text
 * @param {(() => unknown) | null} [undo]
 */
export function showStatus(text, undo = null) {
  clearTimeout(timer);
  const button =
    undo && h("button", { class: "link", type: "button", onclick: () => (clearStatus(), undo()) }, t("undo"));
  setContent(line, h("p", {}, text), button, closeButton(clearStatus));
  timer = setTimeout(clearStatus, undo ? SHOWN_FOR_WITH_UNDO : SHOWN_FOR);
}

/**
 * Something was refused or failed. It is shown until it is closed.
 * @param {unknown} error
 */
export function showError(error) {
  const text = error instanceof Unreachable ? t("away.not_done") : messageOf(error);
  setContent(
    alert,
    h("p", {}, text),
    closeButton(() => setContent(alert)),
  );
}

/** @param {() => unknown} onclick */
const closeButton = (onclick) =>
  h("button", { class: "quiet", type: "button", "aria-label": t("close"), onclick }, icon("close"));

function clearStatus() {
  clearTimeout(timer);
  setContent(line);
}

/**
 * Waits for `work`, showing `text` if it takes long. If it fails, shows the error and returns undefined.
 * @template Result
 * @param {string} text
 * @param {Promise<Result>} work
 */
export async function withStatus(text, work) {
  const show = () => setContent(line, h("p", { class: "waits" }, text));
  const slow = setTimeout(show, SHOW_PROGRESS_AFTER);
  try {
    const result = await work;
    setContent(alert);
    return result;
  } catch (error) {
    showError(error);
    return undefined;
  } finally {
    clearTimeout(slow);
    if (line.querySelector(".waits")) setContent(line);
  }
}
