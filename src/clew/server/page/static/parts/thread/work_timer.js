// @ts-check
/** `<clew-working>`: how long a running turn has worked. The time it waits for a person does not count. It also stops
 * while the daemon is unreachable, since the page cannot know what happens. Then it says what it waits for. */

import { get } from "/page/lib/api.js";
import { setContent } from "/page/lib/dom.js";
import { formatRunningDuration } from "/page/lib/format.js";
import { changes, waiting } from "/page/lib/state.js";
import { events, link, linkState } from "/page/lib/stream.js";
import { coalesce, newestOnly } from "/page/lib/timing.js";
import { t } from "/page/lib/words.js";

class WorkTimer extends HTMLElement {
  #thread;
  #turn;
  #since;
  #gates;
  /** @type {number | null} milliseconds, when they were last counted */
  #worked = null;
  /** @type {(() => unknown)[]} */
  #cleanups = [];
  #startRequest = newestOnly();
  #fetchSoon = coalesce(() => this.#fetchGates(), 100);

  /**
   * @param {string} thread
   * @param {string} turn
   * @param {number} since
   */
  constructor(thread, turn, since) {
    super();
    this.#thread = thread;
    this.#turn = turn;
    this.#since = since;
    this.#gates = this.#blockingGates(waiting.gates);
  }

  connectedCallback() {
    const timer = setInterval(() => this.#draw(), 1000);
    this.#cleanups = [
      () => clearInterval(timer),
      events.on("stored", (kind, frame) => frame.turn === this.#turn && kind.startsWith("gate.") && this.#fetchSoon()),
      changes.on("resync", () => this.#fetchSoon()),
      link.on("state", () => this.#draw()),
    ];
    this.#fetchGates();
    this.#draw();
  }

  disconnectedCallback() {
    this.#cleanups.forEach((cleanup) => cleanup());
  }

  /** @param {Gate[]} gates */
  #blockingGates(gates) {
    return gates.filter((gate) => gate.turn === this.#turn && gate.blocking);
  }

  async #fetchGates() {
    const isNewest = this.#startRequest();
    let gates;
    try {
      gates = await get(`/api/gates?thread=${this.#thread}`);
    } catch {
      return; // fetched again when the stream is back
    }
    if (!isNewest()) return;
    this.#gates = this.#blockingGates(gates);
    this.#draw();
  }

  #draw() {
    const state = linkState();
    const now = Date.now();
    const isConnected = state === "live" || state === "paused";
    if (isConnected || this.#worked === null) this.#worked = now - this.#since - timeBlocked(this.#gates, now);
    const isAsked = this.#gates.some((gate) => gate.state === "open");
    const name = state === "offline" ? "working.away" : isAsked ? "working.asked" : "working";
    this.classList.toggle("is-standing", name !== "working");
    setContent(this, t(name, { time: formatRunningDuration(Math.max(0, this.#worked)) }));
  }
}

/**
 * Milliseconds in which at least one of the gates was open.
 * @param {Gate[]} gates
 * @param {number} now
 */
function timeBlocked(gates, now) {
  let sum = 0;
  let until = 0;
  for (const gate of gates.toSorted((one, other) => one.asked_at - other.asked_at)) {
    const from = Math.max(until, gate.asked_at);
    until = Math.max(until, gate.answered_at ?? gate.closed_at ?? now);
    sum += Math.max(0, until - from);
  }
  return sum;
}

customElements.define("clew-working", WorkTimer);

/** @param {ConstructorParameters<typeof WorkTimer>} args */
export const newWorkTimer = (...args) => new WorkTimer(...args);
