/** The one event stream of this tab: it comes back by itself, from the last number that it has seen, so that nothing is
 * missed or told twice. A tab that nobody looks at lets go of it after a while: browsers allow few connections. */

import { Away, read } from "/page/lib/api.js";
import { Hub } from "/page/lib/emitter.js";
import { keyHeader } from "/page/lib/auth_key.js";

const SILENCE = 40_000; // the daemon sends a heartbeat every 15 s
const UNSEEN = 60_000;
const FIRST_WAIT = 250;
const LONGEST_WAIT = 2_500;

export const events = new Hub(); // each kind of frame by its name
export const link = new Hub(); // tells "state": connecting, live, away, closed, resting

let cursor = null; // the last stored number
let state = "connecting";
let reason = "";
let wake = () => {};
let control = new AbortController();

export const linkState = () => ({ state, reason });

/** Does not return. */
export async function follow() {
  document.addEventListener("visibilitychange", letGoUnseen);
  addEventListener("online", () => wake());
  for (let failures = 0; ;) {
    if (document.hidden && state === "resting") await seen();
    try {
      await once(() => (failures = 0));
      if (document.hidden && control.signal.aborted) turn("resting");
      else turn("connecting");
    } catch (error) {
      if (error.status === 401) turn("closed");
      else turn("away", error instanceof Away ? error.message : String(error));
    }
    if (state !== "resting") await pause(Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** failures++));
  }
}

/** Somebody does not want to wait for the next try. */
export const tryNow = () => wake();

function turn(next, why = "") {
  reason = why;
  if (next === state && next !== "away") return;
  state = next;
  link.tell("state", state);
}

async function once(began) {
  control = new AbortController();
  const { signal } = control;
  let watch = setTimeout(() => control.abort(), SILENCE);
  try {
    const address = cursor === null ? "/api/events" : `/api/events?after=${cursor}`;
    const headers = { Accept: "text/event-stream", ...keyHeader() };
    const answer = await read(await fetch(address, { headers, signal }));
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ""; ;) {
      const { value, done } = await reader.read();
      if (done) return;
      clearTimeout(watch);
      watch = setTimeout(() => control.abort(), SILENCE);
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop();
      if (state !== "live") began();
      blocks.forEach(take);
      turn("live");
    }
  } catch (error) {
    if (!signal.aborted && error.status !== undefined) throw error;
    if (!signal.aborted) throw new Away(String(error.message ?? error));
  } finally {
    clearTimeout(watch);
    control.abort();
  }
}

function take(block) {
  let id = null;
  let kind = "";
  let data = "";
  for (const line of block.split("\n")) {
    if (line.startsWith("data: ")) data = line.slice(6);
    else if (line.startsWith("event: ")) kind = line.slice(7);
    else if (line.startsWith("id: ")) id = Number(line.slice(4));
  }
  if (!kind) return;
  const frame = JSON.parse(data);
  if (id !== null) {
    cursor = id;
    if (kind !== "hello" && kind !== "reset") events.tell("stored", kind, frame);
  }
  events.tell(kind, frame);
}

function pause(wait) {
  const jittered = wait * (0.75 + Math.random() / 2);
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, jittered);
    wake = () => {
      clearTimeout(timer);
      resolve();
    };
  });
}

let unseen = null;

function letGoUnseen() {
  clearTimeout(unseen);
  if (document.hidden) unseen = setTimeout(() => control.abort(), UNSEEN);
  else wake();
}

function seen() {
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden) return;
      document.removeEventListener("visibilitychange", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
  });
}
