/** What was said and is not in the history yet: on its way to the daemon, being passed on, or queued behind a turn. */

import { get, remove } from "/page/lib/api.js";
import { h, redraw } from "/page/lib/dom.js";
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
  #taken = []; // the daemon has them; what became of them is being looked up
  #ends = [];
  look = soon(() => this.#look(), 150);

  begin(thread) {
    this.#thread = thread;
    return this;
  }

  connectedCallback() {
    this.className = "pending";
    this.#ends = [mail.on("changed", () => this.#draw()), mail.on("taken", (message) => this.#take(message))];
    this.#draw();
  }

  disconnectedCallback() {
    this.#ends.forEach((end) => end());
  }

  #take(message) {
    if (message.thread !== this.#thread) return;
    this.#taken.push(message);
    this.look();
  }

  async #look() {
    const view = threads.get(this.#thread);
    const looked = this.#taken.length;
    const isRunning = view?.status === "running"; // how much is queued then, is older than what was just said
    try {
      this.#queue = view?.queued || isRunning || looked ? await get(`/api/threads/${this.#thread}/queue`) : [];
      this.#steers = isRunning ? await get(`/api/turns/${view.turn}/steers`) : [];
    } catch {
      return; // as it was, until the next event
    }
    this.#taken.splice(0, looked);
    this.#draw();
  }

  #draw() {
    const waits = (message, back) => this.#row(message.id, message.text, t("pending.unsent"), back);
    const told = new Set([...this.#queue, ...this.#steers].map((each) => each.message));
    const isUntold = (message) => !told.has(message.id); // the queue can be quicker than the daemon's yes
    const taken = this.#taken.filter(isUntold).map((message) => waits(message, () => this.#recall(message)));
    const unsent = unsentIn(this.#thread)
      .filter(isUntold)
      .map((message) => waits(message, () => takeBack(message.id)));
    const steers = this.#steers.map((steer) => this.#row(steer.message, steer.text, t("pending.steer")));
    const queued = this.#queue
      .slice(0, SHOWN)
      .map((turn) => this.#row(turn.message, turn.text, t("pending.queued"), () => this.#unqueue(turn)));
    const more =
      this.#queue.length > SHOWN && h("p", { class: "note" }, t("pending.more", { n: this.#queue.length - SHOWN }));
    redraw(this, steers, queued, more, taken, unsent);
  }

  #row(message, text, words, back) {
    const label = t("pending.take_back");
    return h(
      "article",
      { class: "passage by-person is-pending", "data-row": message, "aria-label": words },
      h(
        "header",
        {},
        h("span", { class: "who" }, words),
        back && h("button", { class: "link", type: "button", onclick: back }, label),
      ),
      h("div", { class: "said" }, text),
    );
  }

  /** The daemon has it already: the turn that it became is taken back. */
  async #recall(message) {
    const queue = await during(t("saving"), get(`/api/threads/${this.#thread}/queue`));
    const turn = queue?.find((each) => each.message === message.id);
    if (turn) await this.#unqueue(turn);
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
