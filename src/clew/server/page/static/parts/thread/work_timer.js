/** `<clew-working>`: how long a running turn has worked. What it waits for a person does not count; and while the daemon
 * is away it stands too, since nobody knows here what goes on. Either way it says what it waits for. */

import { get } from "/page/lib/api.js";
import { show } from "/page/lib/dom.js";
import { spanSoFar } from "/page/lib/format.js";
import { inOrder, soon } from "/page/lib/emitter.js";
import { events, link, linkState } from "/page/lib/stream.js";
import { things, waiting } from "/page/lib/state.js";
import { t } from "/page/lib/words.js";

const SEEN = new Set(["live", "resting"]); // states of the link in which the daemon is there

class Working extends HTMLElement {
  #thread;
  #turn;
  #since;
  #gates = [];
  #worked = null;
  #ends = [];
  #ask = inOrder();
  #again = soon(() => this.#look(), 100);

  begin(thread, turn, since) {
    this.#thread = thread;
    this.#turn = turn;
    this.#since = since;
    this.#gates = this.#own(waiting.gates);
    return this;
  }

  connectedCallback() {
    const timer = setInterval(() => this.#tick(), 1000);
    this.#ends = [
      () => clearInterval(timer),
      events.on("stored", (kind, frame) => frame.turn === this.#turn && kind.startsWith("gate.") && this.#again()),
      things.on("fresh", () => this.#again()),
      link.on("state", () => this.#tick()),
    ];
    this.#look();
    this.#tick();
  }

  disconnectedCallback() {
    this.#ends.forEach((end) => end());
  }

  #own(gates) {
    return gates.filter((gate) => gate.turn === this.#turn && gate.blocking);
  }

  async #look() {
    const isNews = this.#ask();
    let gates;
    try {
      gates = await get(`/api/gates?thread=${this.#thread}`);
    } catch {
      return; // looked at again when the stream is back
    }
    if (!isNews()) return;
    this.#gates = this.#own(gates);
    this.#tick();
  }

  #tick() {
    const { state } = linkState();
    const now = Date.now();
    if (SEEN.has(state) || this.#worked === null) this.#worked = now - this.#since - stood(this.#gates, now);
    const isAsked = this.#gates.some((gate) => gate.state === "open");
    const words = state === "away" ? "working.away" : isAsked ? "working.asked" : "working";
    this.classList.toggle("is-standing", words !== "working");
    show(this, t(words, { time: spanSoFar(Math.max(0, this.#worked)) }));
  }
}

/** Milliseconds in which at least one of them was open. */
function stood(gates, now) {
  let sum = 0;
  let until = 0;
  for (const gate of gates.toSorted((one, other) => one.asked_at - other.asked_at)) {
    const from = Math.max(until, gate.asked_at);
    until = Math.max(until, gate.answered_at ?? gate.closed_at ?? now);
    sum += Math.max(0, until - from);
  }
  return sum;
}

customElements.define("clew-working", Working);

export const working = (thread, turn, since) => document.createElement("clew-working").begin(thread, turn, since);
