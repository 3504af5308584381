// @ts-check
/** `<clew-running>`: the running turn, with its texts and activities as they happen, in the order in which they began.
 * Events only mark what has changed; the page is redrawn once per frame. */

import { get } from "/page/lib/api.js";
import { focused, h } from "/page/lib/dom.js";
import { liveText, textsOfTurn } from "/page/lib/live_text.js";
import { events } from "/page/lib/stream.js";
import { coalesce, oncePerFrame } from "/page/lib/timing.js";
import { said, t } from "/page/lib/words.js";
import { hasPlaceUnder, newActivity, placeUnder } from "/page/parts/thread/activity.js";
import { growingText } from "/page/parts/thread/text.js";
import { newWorkTimer } from "/page/parts/thread/work_timer.js";

const MINIMUM_GAP = 50; // milliseconds between two redraws: as fast as eyes follow
/** @type {Set<StoredKind>} */
const GATE_CHANGED = new Set(["gate.opened", "gate.answered", "gate.taken", "gate.void", "gate.expired"]);

/** @typedef {Partial<Item> & { item: string }} ItemUpdate what an event says of an item */

export class RunningTurn extends HTMLElement {
  #turn;
  /** @type {Map<string, { text: HTMLElementTagNameMap["clew-text"], stored: string }>} item → its text */
  #texts = new Map();
  /** @type {Map<string, { element: HTMLElement, item: ItemUpdate }>} item → its activity */
  #activities = new Map();
  /** @type {Set<string>} items that have to be drawn */
  #changed = new Set();
  #body = h("div", {});
  /** @type {(() => unknown)[]} */
  #cleanups = [];
  #scheduleDraw = oncePerFrame(() => this.#draw(), MINIMUM_GAP);
  #fetchSoon = coalesce(() => this.#fetchItems(), 250);

  /**
   * @param {Entry} entry of a running turn
   * @param {string} thread
   */
  constructor(entry, thread) {
    super();
    const turn = (this.#turn = entry.turn ?? "");
    this.className = "entry by-agent is-running";
    this.setAttribute("aria-busy", "true");
    this.setAttribute("data-turn", turn);
    this.setAttribute("tabindex", "-1");
    this.setAttribute("role", "article");
    this.setAttribute("aria-label", t("entry.by", { who: entry.author }));
    const header = h("header", {}, h("span", { class: "who" }, entry.author));
    this.replaceChildren(header, this.#body, newWorkTimer(thread, turn, entry.at));
    this.#addItems(entry.items);
    for (const { item } of textsOfTurn(turn)) this.#addText(item);
    this.#scheduleDraw();
  }

  get turn() {
    return this.#turn;
  }

  connectedCallback() {
    const isHere = (/** @type {{ turn: string | null }} */ frame) => frame.turn === this.#turn;
    this.#cleanups = [
      liveText.on(this.#turn, (item, _text, { cut }) => (cut ? this.#removeText(item) : this.#addText(item))),
      events.on("activity", (frame) => isHere(frame) && this.#addActivity({ ...frame.data, kind: frame.data.activity })),
      events.on(
        "activity.live",
        (frame) => isHere(frame) && this.#addActivity({ ...frame, kind: frame.activity, body: frame.detail }),
      ),
      events.on("notice", (frame) => isHere(frame) && this.#onNotice(frame)),
      events.on("stored", (kind, frame) => isHere(frame) && GATE_CHANGED.has(kind) && this.#fetchSoon()),
    ];
  }

  disconnectedCallback() {
    this.#cleanups.forEach((cleanup) => cleanup());
  }

  /** @param {FrameOf<"notice">} frame */
  #onNotice({ seq, data }) {
    this.#addActivity({ item: `notice-${seq}`, kind: "notice", phase: "done", title: said(data, "text") });
  }

  /** @param {Item[]} items as they are stored by now */
  #addItems(items) {
    for (const item of items) {
      if (item.kind !== "text") this.#addActivity(item);
      else if (item.body) this.#addText(item.item, item.body);
    }
  }

  /** @param {string} item */
  #addText(item, stored = "") {
    if (!this.#texts.has(item)) {
      const text = growingText();
      this.#texts.set(item, { text, stored });
      this.#body.append(text);
    }
    this.#changed.add(item);
    this.#scheduleDraw();
  }

  /** @param {string} item */
  #removeText(item) {
    this.#texts.get(item)?.text.remove();
    this.#texts.delete(item);
  }

  /** @param {ItemUpdate} update */
  #addActivity(update) {
    const known = this.#activities.get(update.item);
    const element = known?.element ?? h("div", {});
    if (!known) this.#placeOf(update.parent).append(element);
    const item = { ...known?.item, ...update };
    this.#activities.set(update.item, { element, item });
    this.#changed.add(update.item);
    if (item.kind === "gate") for (const name of this.#activities.keys()) this.#changed.add(name); // it may be on the card
    if (update.phase === "done" && update.body === undefined && update.kind !== "notice") this.#fetchSoon();
    this.#scheduleDraw();
  }

  /** @param {string | null} [parent] the item under which it is shown */
  #placeOf(parent) {
    const above = parent ? this.#activities.get(parent)?.element : undefined;
    return above ? placeUnder(above) : this.#body;
  }

  /** Output and diffs are not in the events. */
  async #fetchItems() {
    try {
      /** @type {Api.TurnView} */
      const turn = await get(`/api/turns/${this.#turn}`);
      if (turn.ended_at === null) this.#addItems(turn.items.filter((item) => item.kind !== "text"));
    } catch {
      // The end of the turn brings them.
    }
  }

  #draw() {
    for (const item of this.#changed) {
      const part = this.#texts.get(item);
      if (this.#activities.has(item)) this.#drawActivity(item);
      else part?.text.setGrowing(this.#textOf(item) ?? part.stored);
    }
    this.#changed.clear();
  }

  /** @param {string} item */
  #textOf(item) {
    return textsOfTurn(this.#turn).find((each) => each.item === item)?.text;
  }

  /**
   * Whether the card of an open gate shows it: a gate, or the work that waits for its answer.
   * @param {ItemUpdate} item
   */
  #isOnCard({ kind, phase, title }) {
    if (phase === "done") return false;
    const asked = [...this.#activities.values()].map((each) => each.item).filter((each) => each.kind === "gate");
    return kind === "gate" || asked.some((gate) => gate.phase !== "done" && gate.title === title);
  }

  /**
   * A fold that a person opened or closed stays so.
   * @param {string} name
   */
  #drawActivity(name) {
    const activity = this.#activities.get(name);
    if (!activity) return;
    const before = activity.element;
    const item = /** @type {Item} */ ({ body: "", outcome: null, exit_code: null, ...activity.item });
    const element = this.#isOnCard(item) ? h("div", { hidden: true }) : newActivity(item, this.#turn);
    if (before instanceof HTMLDetailsElement && element instanceof HTMLDetailsElement) element.open = before.open;
    const hadFocus = before.contains(focused());
    before.replaceWith(element);
    if (hasPlaceUnder(before)) placeUnder(element, before);
    if (hadFocus) element.querySelector("summary")?.focus();
    activity.element = element;
  }
}

customElements.define("clew-running", RunningTurn);
