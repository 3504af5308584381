/** What was said and is not in the history yet: on its way to the daemon, being passed on, or queued behind a turn. */

import { get, remove } from "/page/lib/api.js";
import { h, redraw } from "/page/lib/dom.js";
import { giveBack } from "/page/lib/drafts.js";
import { inOrder, soon } from "/page/lib/emitter.js";
import { during, say } from "/page/lib/status_line.js";
import { threads } from "/page/lib/state.js";
import { mail, takeBack, unsentIn } from "/page/lib/outbox.js";
import { t } from "/page/lib/words.js";

const SHOWN = 5; // of what is queued

class Pending extends HTMLElement {
  #thread;
  #queue = [];
  #steers = [];
  #taken = []; // the daemon has them; what became of them is being looked up
  #told = new Set(); // stand in the history: messages, and each with its turn
  #ask = inOrder();
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

  /** These passages are in the history now, and so not here. */
  told(passages) {
    for (const each of passages.filter(({ message }) => message)) this.#told.add(each.message).add(nameOf(each));
    this.#draw();
    this.look();
  }

  #take(message) {
    if (message.thread !== this.#thread) return;
    this.#taken.push(message);
    this.look();
  }

  async #look() {
    const isNews = this.#ask();
    const view = threads.get(this.#thread);
    const looked = new Set(this.#taken);
    const isRunning = view?.status === "running"; // how much is queued then, is older than what was just said
    const mayWait = !view || view.queued || isRunning || looked.size;
    let queue, steers;
    try {
      queue = mayWait ? await get(`/api/threads/${this.#thread}/queue`) : [];
      steers = isRunning ? await steersOf(view.turn) : [];
    } catch {
      return; // as it was, until the next event
    }
    if (!isNews()) return;
    this.#queue = queue;
    this.#steers = steers;
    this.#taken = this.#taken.filter((message) => !looked.has(message));
    this.#draw();
  }

  #draw() {
    const waits = (message, back) => this.#row(message.id, message.text, t("pending.unsent"), back);
    const waiting = this.#queue.filter((turn) => !this.#told.has(nameOf(turn)));
    const passed = this.#steers.filter((steer) => !this.#told.has(nameOf(steer)));
    const known = new Set([...this.#told, ...[...waiting, ...passed].map((each) => each.message)]);
    const isUntold = (message) => !known.has(message.id); // all of these can be quicker than the daemon's yes
    const taken = this.#taken.filter(isUntold).map((message) => waits(message, () => this.#recall(message)));
    const unsent = unsentIn(this.#thread)
      .filter(isUntold)
      .map((message) => waits(message, () => takeBack(message.id)));
    const steers = passed.map((steer) => this.#row(steer.message, steer.text, t("pending.steer")));
    const queued = waiting
      .slice(0, SHOWN)
      .map((turn) => this.#row(turn.message, turn.text, t("pending.queued"), () => this.#unqueue(turn)));
    const more =
      waiting.length > SHOWN && h("p", { class: "note" }, t("pending.more", { n: waiting.length - SHOWN }));
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

const steersOf = async (turn) => (await get(`/api/turns/${turn}/steers`)).map((steer) => ({ ...steer, turn }));

/** Chats count their messages, each from one on: only with its turn it is this one. */
const nameOf = ({ turn, message }) => `${turn} ${message}`;

customElements.define("clew-pending", Pending);

export const pending = (thread) => document.createElement("clew-pending").begin(thread);
