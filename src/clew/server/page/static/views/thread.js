/** One thread: its history and what runs, what it asks, and where one speaks to it. */

import { patch } from "/page/lib/api.js";
import { h, icon, redraw, show } from "/page/lib/dom.js";
import { lend, PASS, step } from "/page/lib/shortcuts.js";
import { during, say } from "/page/lib/status_line.js";
import { keep, look, things, threads, waiting } from "/page/lib/state.js";
import { mail } from "/page/lib/outbox.js";
import { t } from "/page/lib/words.js";
import { actions } from "/page/parts/thread/actions.js";
import { place } from "/page/parts/gates/gate_list.js";
import { composer } from "/page/parts/thread/composer.js";
import { gate, gateKeys } from "/page/parts/gates/gate.js";
import { pending } from "/page/parts/thread/pending.js";
import { suspended } from "/page/parts/gates/suspended.js";
import { about, titleLine } from "/page/parts/thread/header.js";
import { timeline } from "/page/parts/thread/timeline.js";

class ThreadView extends HTMLElement {
  #id;
  #entitle;
  #view = null;
  #title;
  #about = h("p", { class: "about" });
  #asks = h("div", { class: "asks" });
  #actions;
  #composer;
  #timeline;
  #pending;
  #ends = [];

  begin(id, { entitle }) {
    this.#id = id;
    this.#entitle = entitle;
    this.#title = titleLine((title) => this.#retitle(title));
    this.#actions = actions(id, () => this.#view);
    this.#pending = pending(id);
    this.#timeline = timeline(id, { onfork: (turn) => this.#actions.fork(turn), below: [this.#pending, this.#asks] });
    this.#composer = composer(id, { gates: () => this.#codes(), onstop: () => this.#actions.stop() });
    return this;
  }

  connectedCallback() {
    this.className = "thread";
    const back = h("a", { class: "quiet back", href: "#/threads", "aria-label": t("nav.threads") }, icon("back"));
    this.replaceChildren(
      h(
        "header",
        { class: "thread-head" },
        back,
        h("div", { class: "thread-title" }, this.#title, this.#about),
        this.#actions.element,
      ),
      this.#timeline,
      h("div", { class: "foot" }, this.#composer),
    );
    this.#composer.addEventListener("sent", () => this.#timeline.toEnd());
    this.#timeline.addEventListener("told", ({ detail }) => this.#pending.told(detail));
    this.#ends = [
      things.on("thread", (view) => view.id === this.#id && this.#show(view)),
      things.on("waiting", () => this.#ask()),
      things.on("fresh", () => this.#look()),
      mail.on("taken", (message, accepted) => message.thread === this.#id && this.#accepted(accepted)),
      lend("thread", this.#keys()),
    ];
    if (threads.has(this.#id)) this.#show(threads.get(this.#id));
    this.#look();
  }

  disconnectedCallback() {
    this.#ends.forEach((end) => end());
  }

  async #look() {
    try {
      this.#show(await look(this.#id));
    } catch (error) {
      if (error.status === 404 || error.status === 400)
        show(
          this,
          h(
            "div",
            { class: "empty" },
            h("h1", { tabindex: "-1" }, t("thread.none")),
            h("p", {}, error.message),
            h("a", { class: "button plain", href: "#/threads" }, t("nav.threads")),
          ),
        );
    }
  }

  #show(view) {
    this.#view = view;
    this.#entitle(view.title || t("untitled"));
    this.#title.show(view.title || t("untitled"));
    redraw(this.#about, about(view));
    this.#actions.update(view);
    this.#composer.update(view);
    this.#pending.look();
    this.#ask();
  }

  #ask() {
    const open = waiting.gates.filter((each) => each.thread === this.#id);
    const shown = new Map(
      [...this.#asks.children].map((element) => [element.dataset.gate ?? element.dataset.asks, element]),
    );
    const elements = open.map((each) => shown.get(each.id) ?? gate(each, { inThread: true }));
    if (this.#view?.status === "suspended")
      elements.push(shown.get(this.#view.asks) ?? suspended(this.#view));
    place(this.#asks, elements, this.#timeline);
  }

  #codes() {
    const shown = [...this.#asks.querySelectorAll("clew-gate")];
    return shown.filter((element) => element.isWhole).map((element) => element.gate.code);
  }

  #accepted(accepted) {
    if (accepted.fate === "steer") say(t("fate.steer"));
    else if (accepted.fate === "turn" && this.#view?.status === "running") say(t("fate.queued"));
    else if (accepted.fate !== "turn" && accepted.words) say(accepted.words);
  }

  async #retitle(title) {
    const before = this.#view.title;
    const set = async (words) => {
      const view = await during(t("saving"), patch(`/api/threads/${this.#id}`, { title: words }));
      if (view) keep(view);
      return view;
    };
    if (await set(title)) say(t("title.saved"), () => set(before));
    else this.#title.show(before);
  }

  /** Who is in the list of threads walks there. */
  #step(by) {
    return document.activeElement?.closest?.(".side") ? PASS : step(this.#timeline.passages(), by);
  }

  #keys() {
    const asked = () => document.activeElement?.closest?.(".gate") ?? this.#asks.firstElementChild;
    return {
      j: ["key.next_passage", () => this.#step(1)],
      k: ["key.previous_passage", () => this.#step(-1)],
      G: ["key.newest", () => this.#timeline.toEnd()],
      c: ["key.compose", () => this.#composer.focus()],
      e: ["key.title", () => this.#title.edit()],
      s: ["key.stop", () => this.#actions.stop()],
      h: ["key.handoff", () => this.#actions.handoff()],
      f: ["key.fork", () => this.#actions.fork(document.activeElement?.closest?.("[data-turn]")?.dataset.turn)],
      ...gateKeys(asked),
    };
  }
}

customElements.define("clew-thread", ThreadView);

export const view = (id, frame) => document.createElement("clew-thread").begin(id, frame);
