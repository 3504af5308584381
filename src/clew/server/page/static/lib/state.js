// @ts-check
/** What the page knows: threads as they were last fetched, and everything that waits for a person. Events only say when
 * to fetch again; what is shown is always an answer of the daemon. */

import { get, missed } from "/page/lib/api.js";
import { Emitter } from "/page/lib/emitter.js";
import { events, linkState } from "/page/lib/stream.js";
import { coalesce, newestOnly } from "/page/lib/timing.js";

export const changes = new Emitter(); // emits "thread" (thread), "waiting", and "resync" when the stream is back

/** @type {Map<string, Thread>} */
export const threads = new Map();

/** @type {{ gates: Gate[], suspended: Thread[], isLoaded: boolean }} */
export const waiting = { gates: [], suspended: [], isLoaded: false };

const CATCH_UP_AFTER = 1_500; // milliseconds

/** @type {Set<StoredKind>} */
const IGNORED_KINDS = new Set([
  "message.accepted",
  "activity",
  "notice",
  "steer.sent",
  "turn.claimed",
  "gate.reminded",
]);
/** @type {Set<string>} ids of threads that have to be fetched again */
const outdated = new Set();
const startRequest = newestOnly();

/** @param {Thread} thread */
export function setThread(thread) {
  threads.set(thread.id, thread);
  changes.emit("thread", thread);
  return thread;
}

/**
 * @param {string} id
 * @returns {Promise<Thread>}
 */
export async function fetchThread(id) {
  const isNewest = startRequest();
  const thread = await get(`/api/threads/${id}`);
  return isNewest(id) ? setThread(thread) : known(id);
}

/**
 * A page of the list of threads. A thread that was fetched since the request began stays as it is.
 * @param {string} path
 * @returns {Promise<Api.Page>}
 */
export async function fetchThreadPage(path) {
  const isNewest = startRequest();
  /** @type {Api.Page} */
  const page = await get(path);
  for (const thread of page.threads) if (isNewest(thread.id)) threads.set(thread.id, thread);
  return { ...page, threads: page.threads.map((thread) => known(thread.id)) };
}

/** @param {string} id */
const known = (id) => /** @type {Thread} */ (threads.get(id));

const fetchOutdated = coalesce(() => {
  const ids = [...outdated];
  outdated.clear();
  for (const id of ids) fetchThread(id).catch(() => {}); // unreachable: fetched when the stream is back
}, 120);

export async function fetchWaiting() {
  const isNewest = startRequest();
  const [gates, suspended] = await Promise.all([get("/api/gates"), get("/api/threads?status=suspended&limit=200")]);
  if (!isNewest("waiting")) return;
  Object.assign(waiting, { gates, suspended: suspended.threads, isLoaded: true });
  changes.emit("waiting");
}

const fetchWaitingSoon = coalesce(() => fetchWaiting().catch(() => {}), 60);

export const waitingCount = () => waiting.gates.length + waiting.suspended.length;

events.on("stored", (kind, frame) => {
  if (frame.thread && !IGNORED_KINDS.has(kind)) {
    outdated.add(frame.thread);
    fetchOutdated();
  }
  if (kind.startsWith("gate.") || kind === "thread.status") fetchWaitingSoon();
});

for (const kind of /** @type {const} */ (["hello", "reset"]))
  events.on(kind, () => {
    fetchWaitingSoon();
    changes.emit("resync");
  });

/**
 * A short break may cost a response although the stream lives on: then no "hello" says that something was missed. If it
 * fails again, that is missed, too.
 */
const catchUp = coalesce(async () => {
  if (linkState() !== "live") return; // "hello" does it
  await fetchWaiting().then(
    () => changes.emit("resync"),
    () => {},
  );
}, CATCH_UP_AFTER);
missed.on("response", () => linkState() === "live" && catchUp());

// A hidden tab has closed the stream; its title still shows how much waits.
setInterval(() => linkState() === "paused" && fetchWaiting().catch(() => {}), 30_000);
