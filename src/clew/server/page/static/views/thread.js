// @ts-check
/** The view of one thread: its history and running turn, its gates, and the field for messages. */

import { messageOf, patch, statusOf } from "/page/lib/api.js";
import { focused, h, icon, redrawContent, setContent } from "/page/lib/dom.js";
import { outbox } from "/page/lib/outbox.js";
import { addShortcuts, moveFocus, NOT_HANDLED } from "/page/lib/shortcuts.js";
import { changes, fetchThread, setThread, threads, waiting } from "/page/lib/state.js";
import { showStatus, withStatus } from "/page/lib/status_line.js";
import { said, t } from "/page/lib/words.js";
import { drawnGate, newGate } from "/page/parts/gates/gate.js";
import { isBrieflyDisabled, setGates } from "/page/parts/gates/gate_list.js";
import { gateShortcuts } from "/page/parts/gates/gate_shortcuts.js";
import { questionOf, suspendedPrompt } from "/page/parts/gates/suspended.js";
import { threadActions } from "/page/parts/thread/actions.js";
import { newComposer } from "/page/parts/thread/composer.js";
import { threadFacts, titleLine } from "/page/parts/thread/header.js";
import { newPending } from "/page/parts/thread/pending.js";
import { newTimeline } from "/page/parts/thread/timeline.js";

class ThreadView extends HTMLElement {
  #id;
  #setTitle;
  /** @type {Thread | null} */
  #thread = null;
  #title;
  #facts = h("p", { class: "about" });
  #gates = h("div", { class: "asks" });
  #actions;
  #composer;
  #timeline;
  #pending;
  /** @type {(() => unknown)[]} */
  #cleanups = [];

  /**
   * @param {string} id
   * @param {Frame} frame
   */
  constructor(id, { setTitle }) {
    super();
    this.#id = id;
    this.#setTitle = setTitle;
    this.#title = titleLine((title) => this.#rename(title));
    this.#actions = threadActions(id, () => this.#thread);
    this.#pending = newPending(id);
    this.#timeline = newTimeline(id, { onFork: this.#actions.fork, below: [this.#pending, this.#gates] });
    this.#composer = newComposer(id, {
      shownGates: () => this.#shownGates(),
      hasNewGate: () => [...this.#gates.querySelectorAll("clew-gate")].some((gate) => isBrieflyDisabled(gate)),
      onlyRequest: () => this.#onlyRequest(),
      onStop: this.#actions.stop,
    });
  }

  connectedCallback() {
    this.className = "thread";
    const back = h("a", { class: "quiet back", href: "#/threads", "aria-label": t("nav.threads") }, icon("back"));
    this.replaceChildren(
      h(
        "header",
        { class: "thread-head" },
        back,
        h("div", { class: "thread-title" }, this.#title.element, this.#facts),
        this.#actions.element,
      ),
      this.#timeline,
      h("div", { class: "foot" }, this.#composer),
    );
    this.#composer.addEventListener("sent", () => this.#timeline.scrollToEnd());
    this.#timeline.addEventListener("shown", (event) =>
      this.#pending.hideShown(/** @type {CustomEvent<Entry[]>} */ (event).detail),
    );
    this.#cleanups = [
      changes.on("thread", (thread) => thread.id === this.#id && this.#update(thread)),
      changes.on("waiting", () => this.#drawGates()),
      changes.on("resync", () => this.#fetch()),
      outbox.on("accepted", (message, accepted) => message.thread === this.#id && this.#onAccepted(accepted)),
      addShortcuts("thread", this.#shortcuts()),
    ];
    const known = threads.get(this.#id);
    if (known) this.#update(known);
    this.#fetch();
  }

  disconnectedCallback() {
    this.#cleanups.forEach((cleanup) => cleanup());
  }

  async #fetch() {
    try {
      this.#update(await fetchThread(this.#id));
    } catch (error) {
      if (statusOf(error) === 404 || statusOf(error) === 400) setContent(this, noSuchThread(error));
    }
  }

  /** @param {Thread} thread */
  #update(thread) {
    const title = said(thread, "title") || t("untitled");
    this.#thread = thread;
    this.#setTitle(title);
    this.#title.show(title);
    redrawContent(this.#facts, threadFacts(thread));
    this.#actions.update(thread);
    this.#composer.update(thread);
    this.#pending.fetchSoon();
    this.#drawGates();
  }

  #drawGates() {
    const children = /** @type {HTMLElement[]} */ ([...this.#gates.children]);
    const shown = new Map(children.map((element) => [element.dataset.gate ?? element.dataset.asks, element]));
    const elements = waiting.gates
      .filter((gate) => gate.thread === this.#id)
      .map((gate) => drawnGate(shown.get(gate.id), gate) ?? newGate(gate, { inThread: true }));
    if (this.#thread?.status === "suspended")
      elements.push(shown.get(questionOf(this.#thread)) ?? suspendedPrompt(this.#thread));
    setGates(this.#gates, elements, this.#timeline);
    this.#composer.forgetClosed();
  }

  /** The open request of this thread, if it is one and no question. */
  #onlyRequest() {
    const [only, ...others] = this.#gates.querySelectorAll("clew-gate");
    return only && !others.length && only.gate.kind !== "question" ? only : null;
  }

  /** The codes of the gates that are shown completely. */
  #shownGates() {
    const shown = [...this.#gates.querySelectorAll("clew-gate")];
    return shown.filter((element) => element.isComplete).map((element) => element.gate.code);
  }

  /** @param {Api.Accepted} accepted */
  #onAccepted(accepted) {
    const { fate } = accepted;
    const isMessage = fate === "steer" || fate === "turn";
    if (isMessage && this.#gates.querySelector("clew-gate")) showStatus(t("fate.still_asks"));
    else if (fate === "steer") showStatus(t("fate.steer"));
    else if (fate === "turn" && this.#thread?.status === "running") showStatus(t("fate.queued"));
    else if (fate !== "turn" && accepted.words) showStatus(said(accepted, "words"));
  }

  /** @param {string} title */
  async #rename(title) {
    const before = this.#thread?.title ?? "";
    const save = async (/** @type {string} */ text) => {
      /** @type {Thread | undefined} */
      const thread = await withStatus(t("saving"), patch(`/api/threads/${this.#id}`, { title: text }));
      if (thread) setThread(thread);
      return thread;
    };
    if (await save(title)) showStatus(t("title.saved"), () => save(before));
    else this.#title.show(before);
  }

  /**
   * If the focus is in the list of threads, the shortcut moves there.
   * @param {number} by
   */
  #moveFocus(by) {
    return focused()?.closest(".side") ? NOT_HANDLED : moveFocus([...this.#timeline.entries(), ...this.#gates.children], by);
  }

  /** @returns {import("/page/lib/shortcuts.js").Shortcuts} */
  #shortcuts() {
    return {
      j: ["shortcut.next_entry", () => this.#moveFocus(1)],
      k: ["shortcut.previous_entry", () => this.#moveFocus(-1)],
      G: ["shortcut.newest", () => this.#timeline.scrollToEnd()],
      c: ["shortcut.compose", () => this.#composer.focus()],
      e: ["shortcut.title", () => this.#title.edit()],
      "Alt+s": ["shortcut.stop", () => this.#actions.stop()],
      h: ["shortcut.handoff", () => this.#actions.handoff()],
      f: ["shortcut.fork", () => this.#actions.fork(focused()?.closest("[data-turn]")?.dataset.turn)],
      ...gateShortcuts(),
    };
  }
}

/** @param {unknown} error */
const noSuchThread = (error) =>
  h(
    "div",
    { class: "empty" },
    h("h1", { tabindex: "-1" }, t("thread.none")),
    h("p", {}, messageOf(error)),
    h("a", { class: "button plain", href: "#/threads" }, t("nav.threads")),
  );

customElements.define("clew-thread", ThreadView);

/** @param {ConstructorParameters<typeof ThreadView>} args */
export const view = (...args) => new ThreadView(...args);
