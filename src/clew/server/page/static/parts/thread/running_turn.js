/** The turn that runs: its texts as they are written and its deeds as they are done, in the order in which they began.
 * Deltas only mark what has grown; the page changes once per frame. */

import { get } from "/page/lib/api.js";
import { h } from "/page/lib/dom.js";
import { nextFrame, soon } from "/page/lib/emitter.js";
import { events } from "/page/lib/stream.js";
import { textsOf, written } from "/page/lib/live_text.js";
import { t } from "/page/lib/words.js";
import { deed } from "/page/parts/thread/activity.js";
import { growingText } from "/page/parts/thread/text.js";
import { working } from "/page/parts/thread/work_timer.js";

const REST = 50; // milliseconds between two changes of the page: as fast as eyes follow
const ANSWERED = /^gate\.(answered|taken|void|expired)$/;

class Running extends HTMLElement {
  #turn;
  #parts = new Map(); // item → {element, item?, text?}
  #grown = new Set();
  #deeds = new Map(); // item → newest view of it
  #body = h("div", {});
  #ends = [];
  #paint = nextFrame(() => this.#grow(), REST);
  #fetch = soon(() => this.#catchUp(), 250);

  /** `told` is the running passage of a thread's transcript. */
  begin(told, thread) {
    this.#turn = told.turn;
    this.className = "passage by-agent is-running";
    this.setAttribute("aria-busy", "true");
    this.setAttribute("data-turn", told.turn);
    this.setAttribute("tabindex", "-1");
    this.setAttribute("role", "article");
    this.setAttribute("aria-label", t("passage.by", { who: told.author }));
    const head = h("header", {}, h("span", { class: "who" }, told.author));
    this.replaceChildren(head, this.#body, working(thread, told.turn, told.at));
    this.#take(told.items);
    for (const { item } of textsOf(told.turn)) this.#textPart(item);
    this.#paint();
    return this;
  }

  get turn() {
    return this.#turn;
  }

  connectedCallback() {
    this.#ends = [
      written.on(this.#turn, (item, text, { cut }) => (cut ? this.#drop(item) : this.#textPart(item))),
      events.on(
        "activity",
        (frame) => frame.turn === this.#turn && this.#act({ ...frame.data, kind: frame.data.activity }),
      ),
      events.on(
        "activity.live",
        (frame) => frame.turn === this.#turn && this.#act({ ...frame, kind: frame.activity, body: frame.detail }),
      ),
      events.on(
        "notice",
        (frame) =>
          frame.turn === this.#turn &&
          this.#act({ item: `notice-${frame.seq}`, kind: "notice", phase: "done", title: frame.data.text }),
      ),
    ];
    const answered = (kind, frame) => frame.turn === this.#turn && ANSWERED.test(kind) && this.#fetch();
    this.#ends.push(events.on("stored", answered));
  }

  disconnectedCallback() {
    this.#ends.forEach((end) => end());
  }

  /** What is stored of it by now. */
  #take(items) {
    for (const item of items) {
      if (item.kind !== "text") this.#act(item);
      else if (item.body) this.#textPart(item.item, item.body);
    }
  }

  #textPart(item, stored = "") {
    if (!this.#parts.has(item)) {
      const element = growingText();
      this.#parts.set(item, { element, stored });
      this.#body.append(element);
    }
    this.#grown.add(item);
    this.#paint();
  }

  #drop(item) {
    this.#parts.get(item)?.element.remove();
    this.#parts.delete(item);
  }

  #act(item) {
    const before = this.#deeds.get(item.item);
    const merged = { body: "", outcome: null, exit_code: null, ...before, ...item };
    this.#deeds.set(item.item, merged);
    this.#grown.add(item.item);
    if (!this.#parts.has(item.item)) {
      const element = h("div", {});
      this.#parts.set(item.item, { element });
      this.#body.append(element);
    }
    if (item.phase === "done" && item.body === undefined && item.kind !== "notice") this.#fetch();
    this.#paint();
  }

  /** Output and diffs are not in the events. */
  async #catchUp() {
    try {
      const turn = await get(`/api/turns/${this.#turn}`);
      if (turn.ended_at === null) this.#take(turn.items.filter((item) => item.kind !== "text"));
    } catch {
      // The end of the turn brings them.
    }
  }

  #grow() {
    for (const item of this.#grown) {
      const part = this.#parts.get(item);
      if (!part) continue;
      if (this.#deeds.has(item)) this.#draw(part, this.#deeds.get(item));
      else part.element.grow(this.#textOf(item) ?? part.stored);
    }
    this.#grown.clear();
  }

  #textOf(item) {
    return textsOf(this.#turn).find((each) => each.item === item)?.text;
  }

  /** A fold that a person opened or closed stays so. */
  #draw(part, item) {
    const made = deed(item, this.#turn);
    const before = part.element;
    if (before.tagName === "DETAILS" && made.tagName === "DETAILS") made.open = before.open;
    const hadFocus = before.contains(document.activeElement);
    before.replaceWith(made);
    if (hadFocus) made.querySelector("summary")?.focus();
    part.element = made;
  }
}

customElements.define("clew-running", Running);

export const running = (told, thread) => document.createElement("clew-running").begin(told, thread);
