// @ts-check
/** The dialog that hands a thread to a chat. It shows the progress, and a button that cancels the handoff meanwhile. */

import { get, newMessageId, post, remove, Unreachable } from "/page/lib/api.js";
import { h, setContent, withCode } from "/page/lib/dom.js";
import { fetchThread } from "/page/lib/state.js";
import { showError, showStatus } from "/page/lib/status_line.js";
import { said, t, tOr } from "/page/lib/words.js";
import { openDialog } from "/page/parts/dialogs/dialog.js";

const LONG_POLL = 20; // seconds
const GIVE_UP_AFTER = 60_000; // milliseconds
const RETRY_AFTER = 1_000;

/**
 * @typedef {{ thread: string, target: string, say: string, quiet: boolean, message_id: string }} Request
 * @typedef {{ element: HTMLDialogElement, progress: HTMLElement, takeBack: () => unknown }} Context
 *
 * @param {Thread} thread
 * @param {() => unknown} takeBack undoes a handoff that is done
 */
export async function openHandoffDialog(thread, takeBack) {
  const list = h("div", { class: "targets" }, h("p", { class: "waits" }, t("handoff.looking")));
  const text = h("textarea", { rows: "2", placeholder: t("handoff.say.hint"), "aria-label": t("handoff.say") });
  const greets = h("input", { type: "checkbox", checked: true });
  const other = h("input", { type: "text", placeholder: t("handoff.other.hint"), "aria-label": t("handoff.other") });
  const progress = h("p", { role: "status", class: "waits", hidden: true });
  const element = openDialog(
    t("handoff.title"),
    "handoff",
    h("p", { class: "note" }, t("handoff.words")),
    list,
    h(
      "form",
      { onsubmit: (event) => (event.preventDefault(), other.value.trim() && start(other.value.trim())) },
      h("label", { class: "field" }, h("span", {}, t("handoff.other")), other),
    ),
    h("label", { class: "field" }, h("span", {}, t("handoff.say")), text),
    h("label", { class: "check" }, greets, t("handoff.greets")),
    progress,
  );
  const start = (/** @type {string} */ target) => {
    const words = { say: text.value.trim(), quiet: !greets.checked };
    const request = { thread: thread.id, target, ...words, message_id: newMessageId() };
    return runHandoff(request, { element, progress, takeBack });
  };
  const targets = await fetchTargets();
  const buttons = targets.map((target) => targetButton(target, start));
  setContent(list, buttons.length ? buttons : howToConnect());
  list.querySelector("button:not([disabled])")?.focus();
}

const howToConnect = () =>
  ["handoff.none", "handoff.connect", "handoff.then"].map((name) => h("p", {}, withCode(t(name))));

/** @returns {Promise<Api.TargetView[]>} */
async function fetchTargets() {
  try {
    return (await get("/api/choices")).targets;
  } catch {
    return [];
  }
}

/**
 * @param {Api.TargetView} view
 * @param {(target: string) => unknown} start
 */
function targetButton(view, start) {
  const { surface, name, state, target } = view;
  const reason = said(view, "reason");
  const isUp = state === "up";
  return h(
    "button",
    { class: "plain target", type: "button", disabled: !isUp, title: reason, onclick: () => start(target) },
    h("strong", {}, tOr(`surface.${surface}`, surface)),
    h("small", {}, isUp ? name : reason || t("handoff.down")),
  );
}

/**
 * If the daemon is unreachable, returns the handoff as it was, after a moment: it may still be done.
 * @param {Api.HandoffView} handoff
 * @param {Promise<Api.HandoffView>} request
 */
const unlessUnreachable = (handoff, request) =>
  request.catch(async (error) => {
    if (!(error instanceof Unreachable)) throw error;
    await new Promise((resolve) => setTimeout(resolve, RETRY_AFTER));
    return handoff;
  });

/** @param {Api.HandoffView} handoff */
const fetchHandoff = (handoff) => unlessUnreachable(handoff, get(`/api/handoffs/${handoff.id}?wait=${LONG_POLL}`));
/** @param {Api.HandoffView} handoff */
const cancelHandoff = (handoff) => unlessUnreachable(handoff, remove(`/api/handoffs/${handoff.id}`));

/**
 * Asks again while the daemon is unreachable: it may have stored the first request, and takes each message id once.
 * @param {Request} request
 * @param {number} until
 * @returns {Promise<Api.HandoffView>}
 */
async function requestHandoff(request, until) {
  for (;;) {
    try {
      return await post("/api/handoffs", request);
    } catch (error) {
      if (!(error instanceof Unreachable) || Date.now() >= until) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_AFTER));
  }
}

/**
 * @param {Request} request
 * @param {Context} context
 */
async function runHandoff(request, { element, progress, takeBack }) {
  const [name] = request.target.split(":");
  const surface = tOr(`surface.${name}`, name);
  progress.hidden = false;
  for (const each of element.querySelectorAll("button.target, textarea, input")) each.setAttribute("disabled", "");
  try {
    const until = Date.now() + GIVE_UP_AFTER;
    let handoff = await requestHandoff(request, until);
    const cancel = h(
      "button",
      { class: "link", type: "button", onclick: () => remove(`/api/handoffs/${handoff.id}`).catch(showError) },
      t("handoff.take_back"),
    );
    setContent(progress, t("handoff.waits", { surface }), " ", cancel);
    cancel.focus();
    while (!handoff.ended_at && Date.now() < until) handoff = await fetchHandoff(handoff);
    while (!handoff.ended_at) handoff = await cancelHandoff(handoff);
    element.close();
    fetchThread(request.thread).catch(() => {});
    if (handoff.state === "completed") showStatus(t("handoff.done", { surface }), takeBack);
    else showError(new Error(t("handoff.failed", { reason: said(handoff, "error") })));
  } catch (error) {
    element.close();
    showError(error);
  }
}
