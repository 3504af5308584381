/** Everything that waits for a person, over all threads, oldest first; and the rules that answer for one. */

import { h, show } from "/page/lib/dom.js";
import { lend, PASS, step } from "/page/lib/shortcuts.js";
import { look, lookForWaiting, things, threads, waiting } from "/page/lib/state.js";
import { t } from "/page/lib/words.js";
import { place } from "/page/parts/gates/gate_list.js";
import { gate, gateKeys } from "/page/parts/gates/gate.js";
import { rules } from "/page/parts/rules/rule_list.js";
import { suspended } from "/page/parts/gates/suspended.js";

class Inbox extends HTMLElement {
  #list = h("div", { class: "waiting-list" });
  #word = h("p", { class: "empty-word", role: "status" });
  #ends = [];

  connectedCallback() {
    this.className = "room-inbox";
    this.replaceChildren(h("h1", { tabindex: "-1" }, t("nav.inbox")), this.#word, this.#list, rules());
    const current = () => document.activeElement?.closest?.(".gate") ?? this.#only();
    this.#ends = [
      things.on("waiting", () => this.#draw()),
      lend("inbox", {
        j: ["key.next", () => this.#step(1)],
        k: ["key.previous", () => this.#step(-1)],
        ...gateKeys(current),
        o: ["key.open_thread", () => current()?.querySelector("header a")?.click()],
      }),
    ];
    this.#draw();
    lookForWaiting().catch(() => {});
  }

  disconnectedCallback() {
    this.#ends.forEach((end) => end());
  }

  /** Where several wait, one has to be chosen first. */
  #only() {
    return this.#list.children.length === 1 ? this.#list.firstElementChild : null;
  }

  /** Who is in the list of threads walks there. */
  #step(by) {
    return document.activeElement?.closest?.(".side") ? PASS : step(this.#list.children, by);
  }

  #draw() {
    const shown = new Map([...this.#list.children].map((element) => [nameOf(element), element]));
    const gates = waiting.gates.map((view) => shown.get(view.id) ?? this.#gate(view));
    const others = waiting.suspended.map(
      (view) => shown.get(`${view.id} ${view.asks}`) ?? suspended(view, { named: true }),
    );
    const elements = [...gates, ...others];
    place(this.#list, elements, this.querySelector("h1"));
    show(this.#word, waiting.known ? elements.length === 0 && t("inbox.empty") : t("inbox.waiting"));
  }

  #gate(view) {
    const element = gate(view);
    if (!threads.has(view.thread))
      look(view.thread).then(
        (thread) => show(element.querySelector("header a"), thread.title || t("untitled")),
        () => {},
      );
    return element;
  }
}

const nameOf = (element) => element.dataset.gate ?? `${element.dataset.thread} ${element.dataset.asks}`;

customElements.define("clew-inbox", Inbox);

export function view(_, { entitle }) {
  entitle(t("nav.inbox"));
  return document.createElement("clew-inbox");
}
