/** What the page knows: threads as they were last seen, and all that waits for a person. The stream says when to look
 * again; what is shown is always what the daemon answered. */

import { get } from "/page/lib/api.js";
import { Hub, soon } from "/page/lib/hub.js";
import { events, linkState } from "/page/lib/stream.js";

export const things = new Hub(); // tells "thread" (view), "waiting", "fresh"
export const threads = new Map();
export const waiting = { gates: [], suspended: [], known: false };

const QUIET = new Set(["message.accepted", "activity", "notice", "steer.sent", "turn.claimed", "gate.reminded"]);
const due = new Set();

export function keep(view) {
  threads.set(view.id, view);
  things.tell("thread", view);
  return view;
}

/** One thread, as it is now. */
export const look = async (id) => keep(await get(`/api/threads/${id}`));

const lookAgain = soon(() => {
  const ids = [...due];
  due.clear();
  for (const id of ids) look(id).catch(() => {}); // away: it is looked at when the stream is back
}, 120);

export async function lookForWaiting() {
  const [gates, suspended] = await Promise.all([get("/api/gates"), get("/api/threads?status=suspended&limit=200")]);
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
