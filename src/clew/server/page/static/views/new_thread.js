/** Start a thread: what is to be done, where, by whom, and how much it may do without asking. */

import { Away, newId, post } from "/page/lib/api.js";
import { cap, h } from "/page/lib/dom.js";
import { draft, keepDraft } from "/page/lib/drafts.js";
import { complain } from "/page/lib/status_line.js";
import { link } from "/page/lib/stream.js";
import { t } from "/page/lib/words.js";
import { adoptButton } from "/page/parts/dialogs/adopt.js";
import { Attachments, fileButton, takesFiles } from "/page/parts/thread/attachments.js";
import { Choices } from "/page/parts/thread_options.js";

const NEW = "new";
const isTouch = () => matchMedia("(pointer: coarse)").matches;

class Start extends HTMLElement {
  #kept = draft(NEW);
  #attached = new Attachments(() => this.#changed(), this.#kept.files);
  #choices = new Choices(this.#kept.workspace);
  #text = h("textarea", {
    rows: "4",
    required: true,
    value: this.#kept.text ?? "",
    placeholder: t("new.text.hint"),
    "aria-label": t("new.text"),
    "data-first": true,
  });
  #wait = h("p", { class: "waits", role: "status", hidden: true }, t("new.waiting"));
  #go = h("button", { class: "main", type: "submit" }, t("new.start"), cap("↵"));
  #end = () => {};

  connectedCallback() {
    this.className = "room-start";
    const row = h(
      "div",
      { class: "composer-row" },
      fileButton(this.#attached),
      h("p", { class: "hint" }, t("composer.keys")),
      this.#go,
    );
    const form = h(
      "form",
      { class: "start", onsubmit: (event) => this.#start(event), oninput: () => this.#changed() },
      h("div", { class: "start-text" }, this.#attached.element, this.#text, row),
      this.#choices.element,
      this.#wait,
    );
    takesFiles(form, this.#attached);
    this.#text.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing && !isTouch()) this.#start(event);
    });
    this.replaceChildren(
      h("h1", { tabindex: "-1" }, t("new.heading")),
      h("p", { class: "lead" }, t("new.lead")),
      form,
      adoptButton(),
    );
  }

  disconnectedCallback() {
    this.#end();
  }

  /** Other words are another thread. */
  #changed() {
    this.#kept.id = undefined;
    this.#keep();
  }

  #keep() {
    const { id } = this.#kept;
    keepDraft(NEW, { text: this.#text.value, workspace: this.#choices.workspace, files: this.#attached.ready, id });
  }

  async #start(event) {
    event?.preventDefault();
    if (this.#go.disabled || !this.#text.value.trim() || this.#attached.isBusy) return;
    this.#kept.id ??= newId(); // before the first try: said again, it is the same thread
    this.#keep();
    this.#go.disabled = true;
    const files = this.#attached.ready.map((file) => file.id);
    try {
      const body = { message_id: this.#kept.id, text: this.#text.value, files, ...this.#choices.given() };
      const accepted = await post("/api/threads", body);
      keepDraft(NEW, { workspace: this.#choices.workspace });
      location.hash = `#/threads/${accepted.thread}`;
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Away: the same again when it is back. Refused: another try is another message. */
  #failed(error) {
    this.#go.disabled = false;
    this.#wait.hidden = !(error instanceof Away);
    if (error instanceof Away) {
      this.#end();
      this.#end = link.on("state", (state) => state === "live" && (this.#end(), this.#start()));
    } else {
      this.#kept.id = undefined;
      complain(error);
    }
  }
}

customElements.define("clew-start", Start);

export function view(_, { entitle }) {
  entitle(t("new.title"));
  return document.createElement("clew-start");
}
