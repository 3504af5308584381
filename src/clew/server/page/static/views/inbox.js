// @ts-check
/** The view "inbox": everything that waits for a person, of all threads, oldest first; and the rules. */

import { focused, h, setContent } from "/page/lib/dom.js";
import { addShortcuts, moveFocus, NOT_HANDLED } from "/page/lib/shortcuts.js";
import { changes, fetchThread, fetchWaiting, threads, waiting } from "/page/lib/state.js";
import { t } from "/page/lib/words.js";
import { drawnGate, newGate } from "/page/parts/gates/gate.js";
import { setGates } from "/page/parts/gates/gate_list.js";
import { gateShortcuts } from "/page/parts/gates/gate_shortcuts.js";
import { questionOf, suspendedPrompt } from "/page/parts/gates/suspended.js";
import { newRuleList } from "/page/parts/rules/rule_list.js";

class Inbox extends HTMLElement {
  #list = h("div", { class: "waiting-list" });
  #notice = h("p", { class: "empty-notice", role: "status" });
  /** @type {(() => unknown)[]} */
  #cleanups = [];

  connectedCallback() {
    this.className = "view-inbox";
    this.replaceChildren(h("h1", { tabindex: "-1" }, t("nav.inbox")), this.#notice, this.#list, newRuleList());
    this.#cleanups = [
      changes.on("waiting", () => this.#draw()),
      addShortcuts("inbox", {
        j: ["shortcut.next", () => this.#moveFocus(1)],
        k: ["shortcut.previous", () => this.#moveFocus(-1)],
        ...gateShortcuts(),
        o: ["shortcut.open_thread", () => focused()?.closest(".gate")?.querySelector("header a")?.click()],
      }),
    ];
    this.#draw();
    fetchWaiting().catch(() => {});
  }

  disconnectedCallback() {
    this.#cleanups.forEach((cleanup) => cleanup());
  }

  /**
   * If the focus is in the list of threads, the shortcut moves there.
   * @param {number} by
   */
  #moveFocus(by) {
    return focused()?.closest(".side") ? NOT_HANDLED : moveFocus(this.#list.children, by);
  }

  #draw() {
    const children = /** @type {HTMLElement[]} */ ([...this.#list.children]);
    const shown = new Map(children.map((element) => [keyOf(element), element]));
    const gates = waiting.gates.map((gate) => drawnGate(shown.get(gate.id), gate) ?? this.#gate(gate));
    const suspended = waiting.suspended.map(
      (thread) => shown.get(`${thread.id} ${questionOf(thread)}`) ?? suspendedPrompt(thread, { isNamed: true }),
    );
    const elements = [...gates, ...suspended];
    setGates(this.#list, elements, this.querySelector("h1"));
    setContent(this.#notice, waiting.isLoaded ? elements.length === 0 && t("inbox.empty") : t("inbox.waiting"));
  }

  /** @param {Gate} gate */
  #gate(gate) {
    const element = newGate(gate);
    const link = element.querySelector("header a");
    if (link && !threads.has(gate.thread))
      fetchThread(gate.thread).then(
        (thread) => setContent(link, thread.title || t("untitled")),
        () => {},
      );
    return element;
  }
}

/** @param {HTMLElement} element */
const keyOf = ({ dataset }) => dataset.gate ?? `${dataset.thread} ${dataset.asks}`;

customElements.define("clew-inbox", Inbox);

/**
 * @param {string} _id
 * @param {Frame} frame
 */
export function view(_id, { setTitle }) {
  setTitle(t("nav.inbox"));
  return new Inbox();
}
