/** `<clew-composer>`: where one speaks to a thread. While a turn runs, a message is passed on to it, or queued behind it
 * where one says so; a finished thread is picked up again. What is typed is kept until the daemon has it. */

import { h, icon, show } from "/page/lib/dom.js";
import { draft, drafts, keepDraft } from "/page/lib/drafts.js";
import { send } from "/page/lib/outbox.js";
import { known, t } from "/page/lib/words.js";
import { Attachments, fileButton, takesFiles } from "/page/parts/thread/attachments.js";

const isTouch = () => matchMedia("(pointer: coarse)").matches;

class Composer extends HTMLElement {
  #thread;
  #gates = () => [];
  #asks; // the question of a suspended thread
  #attached = new Attachments(() => this.#keep());
  #end = () => {};
  #field = h("textarea", { rows: "1", "aria-label": t("composer.label"), enterkeyhint: "send" });
  #hint = h("p", { class: "hint", id: "composer-hint" });
  #queue = h("button", { class: "plain", type: "button", onclick: () => this.#send(true) }, t("composer.queue"));
  #stop = h("button", { class: "plain stop", type: "button" }, icon("stop"), t("composer.stop"));
  #go = h("button", { class: "main", type: "submit" }, icon("send"), h("span", {}, t("composer.send")));

  /** `gates` gives the codes of the gates that are shown as open: no other can be meant. `onstop` stops the running
   * turn. */
  begin(thread, { gates, onstop }) {
    this.#thread = thread;
    this.#gates = gates;
    this.#stop.addEventListener("click", onstop);
    const form = h(
      "form",
      {
        class: "composer",
        onsubmit: (event) => (event.preventDefault(), this.#send(false)),
      },
      this.#attached.element,
      this.#field,
      h("div", { class: "composer-row" }, fileButton(this.#attached), this.#hint, this.#stop, this.#queue, this.#go),
    );
    this.#field.setAttribute("aria-describedby", "composer-hint");
    this.#field.addEventListener("input", () => this.#keep());
    this.#field.addEventListener("keydown", (event) => this.#press(event));
    takesFiles(form, this.#attached);
    this.replaceChildren(form);
    return this;
  }

  connectedCallback() {
    this.#end = drafts.on(this.#thread, () => this.#read());
    this.#read();
  }

  disconnectedCallback() {
    this.#end();
  }

  focus() {
    this.#field.focus();
  }

  /** Another state of the thread: other words, other buttons. */
  update(view) {
    const isRunning = view.status === "running";
    this.#asks = view.asks ?? undefined;
    this.#field.disabled = isOver(view);
    this.#field.placeholder = invitation(view);
    show(
      this.#go.lastChild,
      t(isRunning ? "composer.steer" : view.status === "completed" ? "composer.resume" : "composer.send"),
    );
    show(this.#hint, isOver(view) ? t("composer.cancelled") : hint(isRunning));
    this.#stop.hidden = this.#queue.hidden = !isRunning;
    this.#draw();
  }

  /** The draft, as it was kept, came back or was changed in another tab. */
  #read() {
    const { text = "", files = [] } = draft(this.#thread);
    if (this.#field.value !== text) this.#field.value = text;
    this.#attached.set(files);
    this.#draw();
  }

  #press(event) {
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === "Escape") this.#field.blur();
    if (event.key !== "Enter" || event.shiftKey) return;
    if (isTouch() && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.#send(event.altKey);
  }

  #keep() {
    keepDraft(this.#thread, { text: this.#field.value, files: this.#attached.ready });
    this.#draw();
  }

  #draw() {
    const isEmpty = !this.#field.value.trim() && this.#attached.ready.length === 0;
    this.#go.disabled = this.#queue.disabled = isEmpty || this.#attached.isBusy || this.#field.disabled;
    this.#grow();
  }

  #grow() {
    this.#field.style.height = "auto";
    this.#field.style.height = `${Math.min(this.#field.scrollHeight + 2, innerHeight * 0.4)}px`;
  }

  #send(queue) {
    if (this.#go.disabled) return;
    const text = this.#field.value;
    send({ thread: this.#thread, text, queue, files: this.#attached.ready, sees: this.#gates(), answers: this.#asks });
    this.#field.value = "";
    this.#attached.set([]);
    this.#keep();
    this.#field.focus();
    this.dispatchEvent(new CustomEvent("sent"));
  }
}

function invitation(view) {
  const driver = (view.bound ?? []).find((each) => each.drives);
  if (driver && !isOver(view))
    return t("composer.for.elsewhere", { surface: known(`surface.${driver.surface}`, driver.surface) });
  return t(`composer.for.${KINDS[view.status] ?? "idle"}`);
}

const isOver = (view) => view.status === "cancelled" || view.status === "damaged";
const KINDS = { running: "running", completed: "completed", suspended: "suspended", cancelled: "cancelled" };

function hint(isRunning) {
  if (isTouch()) return "";
  return isRunning ? t("composer.keys.running") : t("composer.keys");
}

customElements.define("clew-composer", Composer);

export const composer = (thread, options) => document.createElement("clew-composer").begin(thread, options);
