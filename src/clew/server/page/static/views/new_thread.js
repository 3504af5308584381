// @ts-check
/** The view "new thread": the first message, and the options of the thread. */

import { newMessageId, post, Unreachable } from "/page/lib/api.js";
import { h, isComposing, isTouch, keyCap } from "/page/lib/dom.js";
import { loadDraft, saveDraft } from "/page/lib/drafts.js";
import { showError } from "/page/lib/status_line.js";
import { link } from "/page/lib/stream.js";
import { t } from "/page/lib/words.js";
import { adoptButton } from "/page/parts/dialogs/adopt.js";
import { acceptFiles, Attachments, fileButton } from "/page/parts/thread/attachments.js";
import { ThreadOptions } from "/page/parts/thread_options.js";

const DRAFT = "new"; // its draft is stored under this instead of a thread's id

class NewThread extends HTMLElement {
  #draft = loadDraft(DRAFT);
  #attachments = new Attachments(() => this.#changed(), this.#draft.files);
  #options = new ThreadOptions(this.#draft.workspace);
  #text = h("textarea", {
    rows: "4",
    required: true,
    value: this.#draft.text ?? "",
    placeholder: t("new.text.hint"),
    "aria-label": t("new.text"),
    "data-first": true,
  });
  #waitNotice = h("p", { class: "waits", role: "status", hidden: true }, t("new.waiting"));
  #startButton = h("button", { class: "main", type: "submit" }, t("new.start"), keyCap("↵"));
  #stopListening = () => {};

  connectedCallback() {
    this.className = "view-start";
    const row = h(
      "div",
      { class: "composer-row" },
      fileButton(this.#attachments),
      h("p", { class: "hint" }, t("composer.keys")),
      this.#startButton,
    );
    const form = h(
      "form",
      { class: "start", onsubmit: (event) => this.#start(event), oninput: () => this.#changed() },
      h("div", { class: "start-text" }, this.#attachments.element, this.#text, row),
      this.#options.element,
      this.#waitNotice,
    );
    acceptFiles(form, this.#attachments);
    this.#text.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !isComposing(event) && !isTouch()) this.#start(event);
    });
    this.replaceChildren(
      h("h1", { tabindex: "-1" }, t("new.heading")),
      h("p", { class: "lead" }, t("new.lead")),
      form,
      adoptButton(),
    );
  }

  disconnectedCallback() {
    this.#stopListening();
  }

  /** Another text is another thread, so it gets another id. */
  #changed() {
    this.#draft.id = undefined;
    this.#saveDraft();
  }

  #saveDraft() {
    const { id } = this.#draft;
    const { workspace } = this.#options;
    saveDraft(DRAFT, { text: this.#text.value, workspace, files: this.#attachments.ready, id });
  }

  /** @param {Event} [event] */
  async #start(event) {
    event?.preventDefault();
    if (this.#startButton.disabled || !this.#text.value.trim() || this.#attachments.isBusy) return;
    this.#draft.id ??= newMessageId(); // before the first try: sent again, it is the same thread
    this.#saveDraft();
    this.#startButton.disabled = true;
    const files = this.#attachments.ready.map((file) => file.id);
    try {
      const body = { message_id: this.#draft.id, text: this.#text.value, files, ...this.#options.values() };
      /** @type {Api.Accepted} */
      const accepted = await post("/api/threads", body);
      saveDraft(DRAFT, { workspace: this.#options.workspace });
      location.hash = `#/threads/${accepted.thread}`;
    } catch (error) {
      this.#onError(error);
    }
  }

  /**
   * Unreachable: sends the same again when the daemon is back. Refused: another try gets another id.
   * @param {unknown} error
   */
  #onError(error) {
    this.#startButton.disabled = false;
    this.#waitNotice.hidden = !(error instanceof Unreachable);
    if (error instanceof Unreachable) {
      this.#stopListening();
      this.#stopListening = link.on("state", (state) => state === "live" && (this.#stopListening(), this.#start()));
    } else {
      this.#draft.id = undefined;
      showError(error);
    }
  }
}

customElements.define("clew-start", NewThread);

/**
 * @param {string} _id
 * @param {Frame} frame
 */
export function view(_id, { setTitle }) {
  setTitle(t("new.title"));
  return new NewThread();
}
