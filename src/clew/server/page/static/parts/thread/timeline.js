// @ts-check
/** `<clew-timeline>`: the history of a thread, a window at a time from its newest end, and the running turn. It scrolls
 * along while its end is in sight; else it stays where it is. */

import { get } from "/page/lib/api.js";
import { focused, h, icon } from "/page/lib/dom.js";
import { changes } from "/page/lib/state.js";
import { announce, showError } from "/page/lib/status_line.js";
import { events } from "/page/lib/stream.js";
import { coalesce } from "/page/lib/timing.js";
import { t } from "/page/lib/words.js";
import { cutTag, keyOf, newEntry } from "/page/parts/thread/entry.js";
import { updateReceipts } from "/page/parts/thread/receipts.js";
import { RunningTurn } from "/page/parts/thread/running_turn.js";

const WINDOW_SIZE = 40; // nodes of history
const TAIL_SIZE = 12;
const NEAR_END = 120; // pixels from the end that still count as the end
const MARKDOWN_WAIT = 600; // milliseconds until entries are shown without their Markdown
/** @type {Set<StoredKind>} */
const CHANGING = new Set(["thread.taken_in", "thread.wheel", "thread.title", "thread.settings", "thread.switched", "thread.opinion", "message.accepted", "message.edited", "message.taken_back"]);
const CHANGING_FAMILIES = new Set(["turn", "steer", "handoff"]); // of kinds: what is before the point

class Timeline extends HTMLElement {
  #thread;
  #handlers;
  #list = h("div", { class: "entries" });
  #earlierNote = h("p", { class: "earlier", hidden: true });
  /** @type {RunningTurn | null} */
  #runningTurn = null;
  #running = h("div", { class: "now" });
  #column;
  #scroll;
  #jumpButton = h(
    "button",
    { class: "jump", type: "button", hidden: true, onclick: () => this.scrollToEnd() },
    icon("back"),
    t("timeline.newest"),
  );
  /** @type {Entry | null} the oldest entry that is shown */
  #oldest = null;
  /** @type {Set<string>} */
  #keys = new Set();
  #isAtEnd = true;
  #isLoading = false;
  /** @type {(() => unknown)[]} */
  #cleanups = [];
  /** @type {Promise<unknown>} */
  #queue = Promise.resolve();
  #catchUpSoon = coalesce(() => this.#enqueue(() => this.#catchUp()), 80);
  #resizes = new ResizeObserver(() => this.#isAtEnd && this.scrollToEnd());

  /**
   * @param {string} thread
   * @param {object} options
   * @param {(turn: string) => unknown} options.onFork
   * @param {HTMLElement[]} options.below what is shown under the history: pending messages and gates
   */
  constructor(thread, { onFork, below }) {
    super();
    this.#thread = thread;
    const onGoToTurn = (/** @type {string} */ turn) => this.#focusTurn(turn);
    this.#handlers = { onFork, onGoToTurn };
    const belowElement = h("div", { class: "below" }, below);
    this.#column = h("div", { class: "column" }, this.#earlierNote, this.#list, this.#running, belowElement);
    const label = t("timeline");
    this.#scroll = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, this.#column);
    this.#scroll.addEventListener("scroll", () => this.#onScroll(), { passive: true });
    this.replaceChildren(this.#scroll, this.#jumpButton);
  }

  connectedCallback() {
    this.setAttribute("tabindex", "-1");
    this.#resizes.observe(this.#column);
    this.#resizes.observe(this.#scroll);
    this.#cleanups = [
      events.on("stored", (kind, frame) => frame.thread === this.#thread && this.#onEvent(kind)),
      changes.on("resync", () => this.#catchUpSoon()),
      () => this.#resizes.disconnect(),
    ];
    this.#enqueue(() => this.#reload());
  }

  disconnectedCallback() {
    this.#cleanups.forEach((cleanup) => cleanup());
  }

  /**
   * Runs one after the other, so that no entry is shown twice.
   * @param {() => Promise<unknown>} work
   */
  #enqueue(work) {
    this.#queue = this.#queue.then(work).catch(() => {}); // unreachable: tried again when the stream is back
  }

  scrollToEnd() {
    this.#scroll.scrollTop = this.#scroll.scrollHeight;
  }

  entries() {
    return this.querySelectorAll(".entry");
  }

  /** @param {string} turn */
  #entryOf(turn) {
    return this.querySelector(`.entry[data-turn="${turn}"]`);
  }

  /** @param {string} turn */
  #focusTurn(turn) {
    const entry = this.#entryOf(turn);
    entry?.focus({ preventScroll: true });
    entry?.scrollIntoView({ block: "start" });
  }

  /** @param {StoredKind} kind */
  #onEvent(kind) {
    if (CHANGING.has(kind) || CHANGING_FAMILIES.has(kind.split(".")[0])) this.#catchUpSoon();
    if (kind.startsWith("delivery.")) updateReceipts(this.#thread, this);
  }

  #onScroll() {
    const { scrollHeight, scrollTop, clientHeight } = this.#scroll;
    this.#isAtEnd = scrollHeight - scrollTop - clientHeight < NEAR_END;
    this.#jumpButton.hidden = this.#isAtEnd;
    if (scrollTop < 3 * NEAR_END) this.#loadEarlier();
  }

  async #reload() {
    const entries = await this.#fetch(WINDOW_SIZE);
    const elements = await this.#render(entries.filter((entry) => !isRunning(entry)));
    this.#keys = new Set(entries.map(keyOf));
    this.#list.replaceChildren(...elements);
    this.#oldest = entries[0] ?? null;
    this.#earlierNote.hidden = !isFullWindow(entries);
    this.#earlierNote.textContent = t("timeline.earlier");
    this.#showRunning(entries.find(isRunning));
    this.#dispatchShown(entries);
    this.scrollToEnd();
    updateReceipts(this.#thread, this);
  }

  /**
   * Dispatched in the same step in which the entries are shown, so that they are not pending at the same time.
   * @param {Entry[]} entries
   */
  #dispatchShown(entries) {
    this.dispatchEvent(new CustomEvent("shown", { detail: entries }));
  }

  /**
   * @param {number} limit
   * @param {string} [before]
   * @returns {Promise<Entry[]>}
   */
  #fetch(limit, before) {
    return get(`/api/threads/${this.#thread}/transcript?brief=true&limit=${limit}${before ? `&before=${before}` : ""}`);
  }

  /**
   * Builds entries and waits for their Markdown.
   * @param {Entry[]} entries
   */
  async #render(entries) {
    const elements = entries.map((entry) => newEntry(entry, this.#handlers));
    const texts = elements.flatMap((element) => [...element.querySelectorAll("clew-text")]);
    const rendered = Promise.allSettled(texts.map((text) => text.rendered));
    await Promise.race([rendered, new Promise((resolve) => setTimeout(resolve, MARKDOWN_WAIT))]);
    return elements;
  }

  async #loadEarlier() {
    if (this.#isLoading || this.#earlierNote.hidden || !this.#oldest?.node) return;
    this.#isLoading = true;
    try {
      const entries = await this.#fetch(WINDOW_SIZE, this.#oldest.node);
      this.#prepend(await this.#render(entries));
      entries.forEach((entry) => this.#keys.add(keyOf(entry)));
      this.#oldest = entries[0] ?? this.#oldest;
      this.#earlierNote.hidden = !isFullWindow(entries);
      updateReceipts(this.#thread, this);
    } catch (error) {
      showError(error);
    } finally {
      this.#isLoading = false;
    }
  }

  /**
   * Keeps in place what is in sight. The browser's own scroll anchoring is off meanwhile: it would scroll again.
   * @param {HTMLElement[]} elements
   */
  #prepend(elements) {
    const scroll = this.#scroll;
    const height = scroll.scrollHeight;
    scroll.style.overflowAnchor = "none";
    this.#list.prepend(...elements);
    scroll.scrollTop += scroll.scrollHeight - height;
    requestAnimationFrame(() => (scroll.style.overflowAnchor = ""));
  }

  /** Appends the entries that are new; reloads if there are too many. */
  async #catchUp() {
    const entries = await this.#fetch(TAIL_SIZE);
    const ended = entries.filter((entry) => !isRunning(entry));
    const isNew = (/** @type {Entry} */ entry) => !this.#keys.has(keyOf(entry));
    const hasGap = ended.length >= TAIL_SIZE - 1 && ended.every(isNew);
    if (this.#keys.size === 0 || hasGap) return this.#reload();
    const added = await this.#render(ended.filter(isNew));
    ended.forEach((entry) => this.#keys.add(keyOf(entry)));
    this.#list.append(...added);
    ended.filter((entry) => entry.continued_by).forEach((entry) => this.#linkContinuation(entry));
    this.#showRunning(entries.find(isRunning));
    this.#dispatchShown(entries);
    if (added.length) updateReceipts(this.#thread, this);
    if (added.some((element) => element.matches(".by-agent"))) announce(t("timeline.answered"));
  }

  /**
   * Links a turn that was cut off to the turn that continues it, which began after it was shown.
   * @param {Entry} entry
   */
  #linkContinuation(entry) {
    const tag = this.#list.querySelector(`[data-turn="${entry.turn}"] .is-cut:not(:has(button))`);
    tag?.replaceWith(cutTag(entry, this.#handlers.onGoToTurn));
  }

  /**
   * A running turn that has ended is replaced by its entry in one step, so that nothing jumps.
   * @param {Entry | undefined} entry
   */
  #showRunning(entry) {
    const before = this.#runningTurn;
    if (before?.turn === entry?.turn) return;
    const hadFocus = before?.contains(focused());
    this.#runningTurn = entry ? new RunningTurn(entry, this.#thread) : null;
    this.#running.replaceChildren(...(this.#runningTurn ? [this.#runningTurn] : []));
    if (before && hadFocus) this.#entryOf(before.turn)?.focus({ preventScroll: true });
  }
}

/** @param {Entry} entry */
const isRunning = ({ role, state }) => role === "agent" && (state === "running" || state === "waiting");

/**
 * Whether there may be older entries. The first node of a thread is no entry.
 * @param {Entry[]} entries
 */
const isFullWindow = (entries) =>
  Boolean(entries[0]?.node) && entries.filter((entry) => !isRunning(entry)).length >= WINDOW_SIZE - 1;

customElements.define("clew-timeline", Timeline);

/** @param {ConstructorParameters<typeof Timeline>} args */
export const newTimeline = (...args) => new Timeline(...args);
