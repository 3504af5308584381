/** `<clew-timeline>`: the history of a thread, a window at a time from its newest end, and the turn that runs. It stays
 * at the newest while one looks at it there, and stays where one is else. */

import { get } from "/page/lib/api.js";
import { h, icon } from "/page/lib/dom.js";
import { soon } from "/page/lib/emitter.js";
import { announce, complain } from "/page/lib/status_line.js";
import { events } from "/page/lib/stream.js";
import { things } from "/page/lib/state.js";
import { t } from "/page/lib/words.js";
import { cutTag, keyOf, passage } from "/page/parts/thread/entry.js";
import { giveReceipts } from "/page/parts/thread/receipts.js";
import { running } from "/page/parts/thread/running_turn.js";

const WINDOW = 40; // nodes at once
const TAIL = 12;
const NEAR = 120; // pixels from the end that still count as there
const PATIENCE = 600; // milliseconds for Markdown, before a window is shown as it is
const TELLING = /^(turn\.|steer\.|handoff\.|thread\.(taken_in|wheel|title)|message\.accepted)/;

class Timeline extends HTMLElement {
  #thread;
  #onfork;
  #list = h("div", { class: "passages" });
  #earlier = h("p", { class: "earlier", hidden: true });
  #now = h("div", { class: "now" });
  #below = h("div", { class: "below" });
  #jump = h(
    "button",
    { class: "jump", type: "button", hidden: true, onclick: () => this.toEnd() },
    icon("back"),
    t("timeline.newest"),
  );
  #first = null; // the oldest passage that is shown
  #keys = new Set();
  #isAtEnd = true;
  #isLoading = false;
  #ends = [];
  #inTurn = Promise.resolve();
  #onward = (turn) => reach(this.querySelector(`.passage[data-turn="${turn}"]`));
  #again = soon(() => this.#after(() => this.#catchUp()), 80);
  #watch = new ResizeObserver(() => this.#isAtEnd && this.toEnd());

  /** `below` is shown under the history: what is asked, queued or not sent yet. */
  begin(thread, { onfork, below }) {
    this.#thread = thread;
    this.#onfork = onfork;
    this.#below.append(...below);
    return this;
  }

  connectedCallback() {
    this.setAttribute("tabindex", "-1");
    const scroll = h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": t("timeline") },
      h("div", { class: "column" }, this.#earlier, this.#list, this.#now, this.#below),
    );
    this.replaceChildren(scroll, this.#jump);
    scroll.addEventListener("scroll", () => this.#scrolled(scroll), { passive: true });
    this.#watch.observe(scroll.firstChild);
    this.#watch.observe(scroll);
    this.#ends = [
      events.on("stored", (kind, frame) => frame.thread === this.#thread && this.#heard(kind)),
      things.on("fresh", () => this.#again()),
      () => this.#watch.disconnect(),
    ];
    this.ready = this.#after(() => this.#open());
  }

  disconnectedCallback() {
    this.#ends.forEach((end) => end());
  }

  /** One after the other, so that no passage is told twice. */
  #after(work) {
    this.#inTurn = this.#inTurn.then(work).catch(() => {}); // away: looked at again when the stream is back
    return this.#inTurn;
  }

  get #scroll() {
    return this.firstChild;
  }

  toEnd() {
    this.#scroll.scrollTop = this.#scroll.scrollHeight;
  }

  passages() {
    return this.querySelectorAll(".passage");
  }

  #heard(kind) {
    if (TELLING.test(kind)) this.#again();
    if (kind.startsWith("delivery.")) giveReceipts(this.#thread, this);
  }

  #scrolled(scroll) {
    this.#isAtEnd = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < NEAR;
    this.#jump.hidden = this.#isAtEnd;
    if (scroll.scrollTop < 3 * NEAR) this.#loadEarlier();
  }

  async #open() {
    const told = await this.#get(WINDOW);
    const elements = await this.#made(told.filter((each) => !isRunning(each)));
    this.#keys = new Set(told.map(keyOf));
    this.#list.replaceChildren(...elements);
    this.#first = told[0] ?? null;
    this.#earlier.hidden = !isFull(told);
    this.#earlier.textContent = t("timeline.earlier");
    this.#run(told.find(isRunning));
    this.#tell(told);
    this.toEnd();
    giveReceipts(this.#thread, this);
  }

  /** In the step in which they are shown: what is below them must not show them, too. */
  #tell(told) {
    this.dispatchEvent(new CustomEvent("told", { detail: told }));
  }

  #get(limit, before) {
    return get(`/api/threads/${this.#thread}/transcript?brief=true&limit=${limit}${before ? `&before=${before}` : ""}`);
  }

  /** Elements of passages, once their Markdown stands in them. */
  async #made(told) {
    const elements = told.map((each) => passage(each, { onfork: this.#onfork, onward: this.#onward }));
    const texts = elements.flatMap((element) =>
      [...element.querySelectorAll("clew-text")].map((text) => text.rendered),
    );
    await Promise.race([Promise.allSettled(texts), new Promise((resolve) => setTimeout(resolve, PATIENCE))]);
    return elements;
  }

  async #loadEarlier() {
    if (this.#isLoading || this.#earlier.hidden || !this.#first?.node) return;
    this.#isLoading = true;
    try {
      const told = await this.#get(WINDOW, this.#first.node);
      const elements = await this.#made(told);
      this.#putBefore(elements);
      told.forEach((each) => this.#keys.add(keyOf(each)));
      this.#first = told[0] ?? this.#first;
      this.#earlier.hidden = !isFull(told);
      giveReceipts(this.#thread, this);
    } catch (error) {
      complain(error);
    } finally {
      this.#isLoading = false;
    }
  }

  /** What one looks at stays where it is. The browser's own anchoring would do it twice. */
  #putBefore(elements) {
    const scroll = this.#scroll;
    const height = scroll.scrollHeight;
    scroll.style.overflowAnchor = "none";
    this.#list.prepend(...elements);
    scroll.scrollTop += scroll.scrollHeight - height;
    requestAnimationFrame(() => (scroll.style.overflowAnchor = ""));
  }

  /** What has come since; where that is more than a little, all anew. */
  async #catchUp() {
    const told = await this.#get(TAIL);
    const ended = told.filter((each) => !isRunning(each));
    const isJoined = ended.length < TAIL - 1 || ended.some((each) => this.#keys.has(keyOf(each)));
    if (this.#keys.size === 0 || !isJoined) return this.#open();
    const fresh = await this.#made(ended.filter((each) => !this.#keys.has(keyOf(each))));
    ended.forEach((each) => this.#keys.add(keyOf(each)));
    this.#list.append(...fresh);
    ended.filter((each) => each.continued_by).forEach((each) => this.#goesOn(each));
    this.#run(told.find(isRunning));
    this.#tell(told);
    if (fresh.length) giveReceipts(this.#thread, this);
    if (fresh.some((each) => each.matches(".by-agent"))) announce(t("timeline.answered"));
  }

  /** What was cut off when it was told here, and goes on since. */
  #goesOn(told) {
    const tag = this.#list.querySelector(`[data-turn="${told.turn}"] .is-cut:not(:has(button))`);
    tag?.replaceWith(cutTag(told, this.#onward));
  }

  /** The running turn is replaced by its passage in one step, so that nothing jumps. */
  #run(told) {
    const shown = this.#now.firstChild;
    if (shown?.turn === told?.turn) return;
    const hadFocus = shown?.contains(document.activeElement);
    this.#now.replaceChildren(...(told ? [running(told, this.#thread)] : []));
    if (hadFocus) this.querySelector(`.passage[data-turn="${shown.turn}"]`)?.focus({ preventScroll: true });
  }
}

const isRunning = (told) => told.role === "agent" && (told.state === "running" || told.state === "waiting");

function reach(passage) {
  passage?.focus({ preventScroll: true });
  passage?.scrollIntoView({ block: "start" });
}

/** The very first node of a thread is not told. */
const isFull = (told) => Boolean(told[0]?.node) && told.filter((each) => !isRunning(each)).length >= WINDOW - 1;

customElements.define("clew-timeline", Timeline);

export const timeline = (thread, options) => document.createElement("clew-timeline").begin(thread, options);
