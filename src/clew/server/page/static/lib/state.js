/** What the page knows: threads as they were last seen, and all that waits for a person. The stream says when to look
 * again; what is shown is always what the daemon answered. */

import { get } from "/page/lib/api.js";
import { Hub, inOrder, soon } from "/page/lib/emitter.js";
import { events, linkState } from "/page/lib/stream.js";

export const things = new Hub(); // tells "thread" (view), "waiting", "fresh"
export const threads = new Map();
export const waiting = { gates: [], suspended: [], known: false };

const QUIET = new Set(["message.accepted", "activity", "notice", "steer.sent", "turn.claimed", "gate.reminded"]);
const due = new Set();
const ask = inOrder();

export function keep(view) {
  threads.set(view.id, view);
  things.tell("thread", view);
  return view;
}

/** One thread, as it is now. */
export async function look(id) {
  const isNews = ask();
  const view = await get(`/api/threads/${id}`);
  return isNews(id) ? keep(view) : threads.get(id);
}

/** A page of the list of threads. What was seen of one of them since it was asked for stays. */
export async function lookThrough(address) {
  const isNews = ask();
  const page = await get(address);
  for (const view of page.threads) if (isNews(view.id)) threads.set(view.id, view);
  return { ...page, threads: page.threads.map((view) => threads.get(view.id)) };
}

const lookAgain = soon(() => {
  const ids = [...due];
  due.clear();
  for (const id of ids) look(id).catch(() => {}); // away: it is looked at when the stream is back
}, 120);

export async function lookForWaiting() {
  const isNews = ask();
  const [gates, suspended] = await Promise.all([get("/api/gates"), get("/api/threads?status=suspended&limit=200")]);
  if (!isNews("waiting")) return;
  Object.assign(waiting, { gates, suspended: suspended.threads, known: true });
  things.tell("waiting");
}

const waitingSoon = soon(() => lookForWaiting().catch(() => {}), 60);

export const waits = () => waiting.gates.length + waiting.suspended.length;

events.on("stored", (kind, frame) => {
  if (frame.thread && !QUIET.has(kind)) {
    due.add(frame.thread);
    lookAgain();
  }
  if (kind.startsWith("gate.") || kind === "thread.status") waitingSoon();
});

for (const kind of ["hello", "reset"])
  events.on(kind, () => {
    waitingSoon();
    things.tell("fresh");
  });

// A tab that nobody looks at has let go of the stream; its title still tells how much waits.
setInterval(() => linkState().state === "resting" && lookForWaiting().catch(() => {}), 30_000);
