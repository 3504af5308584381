// @ts-check
/** `<clew-composer>`: the field for messages to a thread. While a turn runs, a message steers it, or is queued behind
 * it if the person chooses so; a message to a finished thread resumes it. The draft is stored until it is sent. */

import { focused, h, icon, isComposing, isTouch, setContent } from "/page/lib/dom.js";
import { drafts, loadDraft, saveDraft } from "/page/lib/drafts.js";
import { sendMessage } from "/page/lib/outbox.js";
import { showStatus } from "/page/lib/status_line.js";
import { said, t, tOr } from "/page/lib/words.js";
import { acceptFiles, Attachments, fileButton } from "/page/parts/thread/attachments.js";
import { reasonOfNo, whichIsMeant } from "/page/parts/thread/typed_no.js";

class Composer extends HTMLElement {
  #thread;
  #shownGates;
  #hasNewGate;
  #onlyRequest;
  /** @type {{ element: HTMLElement, request: HTMLElement } | null} what is typed may be a no to this request */
  #which = null;
  /** @type {string | undefined} the question of a suspended thread */
  #question;
  #attachments = new Attachments(() => this.#saveDraft());
  #stopListening = () => {};
  #field = h("textarea", { rows: "1", "aria-label": t("composer.label"), enterkeyhint: "send", "data-first": true });
  #hint = h("p", { class: "hint", id: "composer-hint" });
  #queueButton = h("button", { class: "plain", type: "button", onclick: () => this.#send(true) }, t("composer.queue"));
  #stopButton = h("button", { class: "plain stop", type: "button" }, icon("stop"), t("composer.stop"));
  #sendLabel = h("span", {}, t("composer.send"));
  #sendButton = h("button", { class: "main", type: "submit" }, icon("send"), this.#sendLabel);

  /**
   * @param {string} thread
   * @param {object} options
   * @param {() => string[]} options.shownGates codes of the gates that are shown: a message can answer no other
   * @param {() => boolean} options.hasNewGate whether one has just appeared: nobody can have read it yet
   * @param {() => import("/page/parts/gates/gate.js").GateElement | null} options.onlyRequest if one request is open
   * @param {() => unknown} options.onStop stops the running turn
   */
  constructor(thread, { shownGates, hasNewGate, onlyRequest, onStop }) {
    super();
    this.#thread = thread;
    this.#shownGates = shownGates;
    this.#hasNewGate = hasNewGate;
    this.#onlyRequest = onlyRequest;
    this.#stopButton.addEventListener("click", onStop);
    const buttons = [this.#stopButton, this.#queueButton, this.#sendButton];
    const form = h(
      "form",
      { class: "composer", onsubmit: (event) => (event.preventDefault(), this.#send(false)) },
      this.#attachments.element,
      this.#field,
      h("div", { class: "composer-row" }, fileButton(this.#attachments), this.#hint, buttons),
    );
    this.#field.setAttribute("aria-describedby", "composer-hint");
    this.#field.addEventListener("input", () => (this.#forgetWhich(), this.#saveDraft()));
    this.#field.addEventListener("keydown", (event) => this.#onKeydown(event));
    acceptFiles(form, this.#attachments);
    this.replaceChildren(form);
  }

  connectedCallback() {
    this.#stopListening = drafts.on(this.#thread, () => this.#loadDraft());
    this.#loadDraft();
  }

  disconnectedCallback() {
    this.#stopListening();
  }

  focus() {
    this.#field.focus();
  }

  /**
   * Adapts texts and buttons to the state of the thread.
   * @param {Thread} thread
   */
  update(thread) {
    const isRunning = thread.status === "running";
    this.#question = thread.asks ?? undefined;
    this.#field.disabled = isClosed(thread);
    this.#field.placeholder = placeholder(thread);
    const label = isRunning ? "composer.steer" : thread.status === "completed" ? "composer.resume" : "composer.send";
    setContent(this.#sendLabel, t(label));
    setContent(this.#hint, isClosed(thread) ? t("composer.cancelled") : hint(isRunning));
    const hadFocus = [this.#stopButton, this.#queueButton].some((button) => button === focused());
    this.#stopButton.hidden = this.#queueButton.hidden = !isRunning;
    if (hadFocus && !isRunning && !isTouch()) this.#field.focus();
    this.#updateButtons();
  }

  /** The draft was stored before, was restored, or was changed in another tab. */
  #loadDraft() {
    const { text = "", files = [] } = loadDraft(this.#thread);
    if (this.#field.value !== text) this.#field.value = text;
    this.#attachments.set(files);
    this.#updateButtons();
  }

  /** @param {KeyboardEvent} event */
  #onKeydown(event) {
    if (isComposing(event)) return;
    if (event.key === "Escape") this.#field.blur();
    if (event.key !== "Enter" || event.shiftKey) return;
    if (isTouch() && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.#send(event.altKey);
  }

  #saveDraft() {
    saveDraft(this.#thread, { text: this.#field.value, files: this.#attachments.ready });
    this.#updateButtons();
  }

  #updateButtons() {
    const isEmpty = !this.#field.value.trim() && this.#attachments.ready.length === 0;
    const isDisabled = isEmpty || this.#attachments.isBusy || this.#field.disabled;
    this.#sendButton.disabled = this.#queueButton.disabled = isDisabled;
    this.#fitHeight();
  }

  #fitHeight() {
    this.#field.style.height = "auto";
    this.#field.style.height = `${Math.min(this.#field.scrollHeight + 2, innerHeight * 0.4)}px`;
  }

  /** @param {boolean} queue */
  #send(queue) {
    if (this.#sendButton.disabled) return;
    if (this.#hasNewGate()) {
      showStatus(t("composer.press_again"));
      return;
    }
    const request = queue || this.#which ? null : this.#onlyRequest();
    const reason = request && reasonOfNo(this.#field.value);
    if (request && reason) return this.#askWhich(request, reason);
    sendMessage({
      thread: this.#thread,
      text: this.#field.value,
      queue,
      files: this.#attachments.ready,
      sees: this.#shownGates(),
      answers: this.#question,
    });
    this.#empty();
    this.dispatchEvent(new CustomEvent("sent"));
  }

  #empty() {
    this.#field.value = "";
    this.#attachments.set([]);
    this.#forgetWhich();
    this.#saveDraft();
    this.#field.focus();
  }

  /** Asks no more whether a no was meant if its request is closed. */
  forgetClosed() {
    if (!this.#which?.request.isConnected) this.#forgetWhich();
  }

  #forgetWhich() {
    this.#which?.element.remove();
    this.#which = null;
  }

  /**
   * @param {import("/page/parts/gates/gate.js").GateElement} request
   * @param {string} reason
   */
  #askWhich(request, reason) {
    const decline = async () => {
      if (await request.declineBecause(reason)) this.#empty();
    };
    const element = whichIsMeant(said(request.gate.shown, "title"), { decline, send: () => this.#send(false) });
    this.#which = { element, request };
    this.#field.before(element);
  }
}

const HAS_PLACEHOLDER = new Set(["running", "completed", "suspended", "cancelled"]);

/** @param {Thread} thread */
function placeholder(thread) {
  const driver = (thread.bound ?? []).find((each) => each.drives);
  if (driver && !isClosed(thread))
    return t("composer.for.elsewhere", { surface: tOr(`surface.${driver.surface}`, driver.surface) });
  if (thread.status === "running" && thread.gates.length) return t("composer.for.asked");
  return t(`composer.for.${HAS_PLACEHOLDER.has(thread.status) ? thread.status : "idle"}`);
}

/** @param {Thread} thread */
const isClosed = (thread) => thread.status === "cancelled" || thread.status === "damaged";

/** @param {boolean} isRunning */
function hint(isRunning) {
  if (isTouch()) return "";
  return isRunning ? t("composer.keys.running") : t("composer.keys");
}

customElements.define("clew-composer", Composer);

/** @param {ConstructorParameters<typeof Composer>} args */
export const newComposer = (...args) => new Composer(...args);
