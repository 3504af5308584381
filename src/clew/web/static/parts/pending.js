/** What was said and is not in the history yet: on its way to the daemon, being passed on, or queued behind a turn. */

import { get, remove } from "/page/lib/api.js";
import { h, show } from "/page/lib/dom.js";
import { giveBack } from "/page/lib/drafts.js";
import { soon } from "/page/lib/hub.js";
import { during, say } from "/page/lib/say.js";
import { threads } from "/page/lib/things.js";
import { mail, takeBack, unsentIn } from "/page/lib/unsent.js";
import { t } from "/page/lib/words.js";

const SHOWN = 5; // of what is queued

class Pending extends HTMLElement {
  #thread;
  #queue = [];
  #steers = [];
  #ends = [];
  look = soon(() => this.#look(), 150);

  begin(thread) {
    this.#thread = thread;
    return this;
  }

  connectedCallback() {
    this.className = "pending";
    this.#ends = [mail.on("changed", () => this.#draw()), mail.on("taken", () => this.look())];
    this.#draw();
  }

  disconnectedCallback() {
    this.#ends.forEach((end) => end());
  }

  async #look() {
    const view = threads.get(this.#thread);
    try {
      this.#queue = view?.queued ? await get(`/api/threads/${this.#thread}/queue`) : [];
      this.#steers = view?.status === "running" ? await get(`/api/turns/${view.turn}/steers`) : [];
    } catch {
      this.#queue = []; // told again with the next event
    }
    this.#draw();
  }

  #draw() {
    const unsent = unsentIn(this.#thread).map((message) =>
      this.#row(message.text, t("pending.unsent"), () => takeBack(message.id)),
    );
    const steers = this.#steers.map((steer) => this.#row(steer.text, t("pending.steer")));
    const queued = this.#queue
      .slice(0, SHOWN)
      .map((turn) => this.#row(turn.text, t("pending.queued"), () => this.#unqueue(turn)));
    const more =
      this.#queue.length > SHOWN && h("p", { class: "note" }, t("pending.more", { n: this.#queue.length - SHOWN }));
    show(this, steers, queued, more, unsent);
  }

  #row(text, words, back) {
    const label = t("pending.take_back");
    return h(
      "article",
      { class: "passage by-person is-pending", "aria-label": words },
      h(
        "header",
        {},
        h("span", { class: "who" }, words),
        back && h("button", { class: "link", type: "button", onclick: back }, label),
      ),
      h("div", { class: "said" }, text),
    );
  }

  async #unqueue(turn) {
    const done = await during(t("saving"), remove(`/api/turns/${turn.turn}`));
    if (!done) return;
    giveBack(this.#thread, { text: turn.text });
    say(t(turn.files?.length ? "pending.taken_back_files" : "pending.taken_back"));
    this.look();
  }
}

customElements.define("clew-pending", Pending);

export const pending = (thread) => document.createElement("clew-pending").begin(thread);
