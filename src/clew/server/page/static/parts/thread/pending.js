// @ts-check
/** `<clew-pending>`: messages that are not in the history yet. They are on their way to the daemon, being passed on to
 * the running turn, or queued behind it. */

import { get, remove } from "/page/lib/api.js";
import { h, redrawContent } from "/page/lib/dom.js";
import { restoreDraft } from "/page/lib/drafts.js";
import { outbox, takeBackMessage, unsentMessages } from "/page/lib/outbox.js";
import { threads } from "/page/lib/state.js";
import { showStatus, withStatus } from "/page/lib/status_line.js";
import { coalesce, newestOnly } from "/page/lib/timing.js";
import { t } from "/page/lib/words.js";

/**
 * @typedef {import("/page/lib/outbox.js").Message} Message
 * @typedef {Api.SteerView & { turn: string }} Steer
 */

const MOST_QUEUED = 5; // of the queue, more are only counted

class Pending extends HTMLElement {
  #thread;
  /** @type {Api.QueuedView[]} */
  #queue = [];
  /** @type {Steer[]} */
  #steers = [];
  /** @type {Message[]} the daemon has them, and whether they are queued or steer a turn is being fetched */
  #accepted = [];
  /** @type {Set<string>} what the history shows: ids of messages, and `keyOf` them */
  #shown = new Set();
  #startRequest = newestOnly();
  /** @type {(() => unknown)[]} */
  #cleanups = [];
  fetchSoon = coalesce(() => this.#fetch(), 150);

  /** @param {string} thread */
  constructor(thread) {
    super();
    this.#thread = thread;
  }

  connectedCallback() {
    this.className = "pending";
    this.#cleanups = [
      outbox.on("changed", () => this.#draw()),
      outbox.on("accepted", (message) => this.#onAccepted(message)),
    ];
    this.#draw();
  }

  disconnectedCallback() {
    this.#cleanups.forEach((cleanup) => cleanup());
  }

  /**
   * The history shows these entries now, so they are not pending.
   * @param {Entry[]} entries
   */
  hideShown(entries) {
    for (const { turn, message } of entries) if (message) this.#shown.add(message).add(keyOf({ turn, message }));
    this.#draw();
    this.fetchSoon();
  }

  /** @param {Message} message */
  #onAccepted(message) {
    if (message.thread !== this.#thread) return;
    this.#accepted.push(message);
    this.fetchSoon();
  }

  async #fetch() {
    const isNewest = this.#startRequest();
    const thread = threads.get(this.#thread);
    const accepted = new Set(this.#accepted);
    const turn = thread?.status === "running" ? thread.turn : null;
    const mayBeQueued = !thread || thread.queued || turn || accepted.size; // `queued` is older than the newest message
    let queue, steers;
    try {
      queue = mayBeQueued ? await get(`/api/threads/${this.#thread}/queue`) : [];
      steers = turn ? await fetchSteers(turn) : [];
    } catch {
      return; // the next event fetches them
    }
    if (!isNewest()) return;
    this.#queue = queue;
    this.#steers = steers;
    this.#accepted = this.#accepted.filter((message) => !accepted.has(message));
    this.#draw();
  }

  #draw() {
    const queue = this.#queue.filter((turn) => !this.#shown.has(keyOf(turn)));
    const steers = this.#steers.filter((steer) => !this.#shown.has(keyOf(steer)));
    const known = new Set([...this.#shown, ...[...queue, ...steers].map(({ message }) => message)]);
    // All of these can be faster than the daemon's answer to the message itself.
    const isUnknown = (/** @type {Message} */ message) => !known.has(message.id);
    const unsent = unsentMessages(this.#thread).filter(isUnknown);
    const accepted = this.#accepted.filter(isUnknown);
    const rest = queue.length - MOST_QUEUED;
    redrawContent(
      this,
      steers.map(({ message, text }) => row(message, text, t("pending.steer"))),
      queue
        .slice(0, MOST_QUEUED)
        .map((turn) => row(turn.message, turn.text, t("pending.queued"), () => this.#unqueue(turn))),
      rest > 0 && h("p", { class: "note" }, t("pending.more", { n: rest })),
      accepted.map(({ id, text }) => row(id, text, t("pending.unsent"), () => this.#takeBackAccepted(id))),
      unsent.map(({ id, text }) => row(id, text, t("pending.unsent"), () => takeBackMessage(id))),
    );
  }

  /**
   * The daemon has the message already: takes back the turn that it became.
   * @param {string} message
   */
  async #takeBackAccepted(message) {
    /** @type {Api.QueuedView[] | undefined} */
    const queue = await withStatus(t("saving"), get(`/api/threads/${this.#thread}/queue`));
    const turn = queue?.find((each) => each.message === message);
    if (turn) await this.#unqueue(turn);
  }

  /** @param {Api.QueuedView} turn */
  async #unqueue(turn) {
    const done = await withStatus(t("saving"), remove(`/api/turns/${turn.turn}`));
    if (!done) return;
    restoreDraft(this.#thread, { text: turn.text });
    showStatus(t(turn.files?.length ? "pending.taken_back_files" : "pending.taken_back"));
    this.fetchSoon();
  }
}

/**
 * @param {string} message
 * @param {string} text
 * @param {string} state
 * @param {() => unknown} [takeBack]
 */
const row = (message, text, state, takeBack) =>
  h(
    "article",
    { class: "entry by-person is-pending", "data-row": message, "aria-label": state },
    h(
      "header",
      {},
      h("span", { class: "who" }, state),
      takeBack && h("button", { class: "link", type: "button", onclick: takeBack }, t("pending.take_back")),
    ),
    h("div", { class: "said" }, text),
  );

/**
 * @param {string} turn
 * @returns {Promise<Steer[]>}
 */
async function fetchSteers(turn) {
  /** @type {Api.SteerView[]} */
  const steers = await get(`/api/turns/${turn}/steers`);
  return steers.map((steer) => ({ ...steer, turn }));
}

/**
 * Chats number their messages, each from one on, so a message is only known together with its turn.
 * @param {{ turn: string | null, message: string }} of
 */
const keyOf = ({ turn, message }) => `${turn} ${message}`;

customElements.define("clew-pending", Pending);

/** @param {string} thread */
export const newPending = (thread) => new Pending(thread);
