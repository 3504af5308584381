// @ts-check
/** The one event stream of this tab. It reconnects by itself and continues after the last event that it has seen, so
 * none is missed or repeated. A hidden tab closes it after a while: browsers allow few connections. */

import { messageOf, Problem, readResponse, statusOf, Unreachable } from "/page/lib/api.js";
import { authHeaders } from "/page/lib/auth_key.js";
import { Emitter } from "/page/lib/emitter.js";

const LONGEST_SILENCE = 40_000; // milliseconds; the daemon sends a heartbeat every 15 s
const PAUSE_WHEN_HIDDEN_FOR = 60_000;
const FIRST_WAIT = 250;
const LONGEST_WAIT = 2_500;

/** @type {EventStream} */
export const events = new Emitter();
export const link = new Emitter(); // emits "state" (see LinkState)

/** @typedef {"connecting" | "live" | "offline" | "logged_out" | "paused"} LinkState */

/** @type {number | null} the number of the last stored event */
let cursor = null;
/** @type {LinkState} */
let state = "connecting";
let wake = () => {};
let control = new AbortController();

export const linkState = () => state;

/** Does not return. */
export async function followEvents() {
  document.addEventListener("visibilitychange", onVisibilityChange);
  addEventListener("online", () => wake());
  for (let failures = 0; ;) {
    if (document.hidden && linkState() === "paused") await untilVisible();
    try {
      await readStream(() => (failures = 0));
      if (document.hidden && control.signal.aborted) setState("paused");
      else setState("connecting");
    } catch (error) {
      setState(statusOf(error) === 401 ? "logged_out" : "offline");
    }
    if (linkState() !== "paused") await pause(Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** failures++));
  }
}

/** Does not wait for the next try. */
export const reconnectNow = () => wake();

/** @param {LinkState} next */
function setState(next) {
  if (next === state && next !== "offline") return;
  state = next;
  link.emit("state", state);
}

/**
 * Returns when the stream ends or is aborted by us.
 * @param {() => unknown} onConnected
 */
async function readStream(onConnected) {
  control = new AbortController();
  const { signal } = control;
  const abort = () => control.abort();
  let silenceTimer = setTimeout(abort, LONGEST_SILENCE);
  try {
    const path = cursor === null ? "/api/events" : `/api/events?after=${cursor}`;
    const headers = { Accept: "text/event-stream", ...authHeaders() };
    const response = await readResponse(await fetch(path, { headers, signal }));
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ""; ;) {
      const { value, done } = await reader.read();
      if (done) return;
      clearTimeout(silenceTimer);
      silenceTimer = setTimeout(abort, LONGEST_SILENCE);
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop() ?? "";
      if (state !== "live") onConnected();
      blocks.forEach(dispatch);
      setState("live");
    }
  } catch (error) {
    if (signal.aborted) return;
    throw error instanceof Problem ? error : new Unreachable(messageOf(error));
  } finally {
    clearTimeout(silenceTimer);
    control.abort();
  }
}

/** @param {string} block the lines of one server-sent event */
function dispatch(block) {
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
    if (kind !== "hello" && kind !== "reset") events.emit("stored", kind, frame);
  }
  events.emit(kind, frame);
}

/** @param {number} wait */
function pause(wait) {
  const jittered = wait * (0.75 + Math.random() / 2);
  return /** @type {Promise<void>} */ (
    new Promise((resolve) => {
      const timer = setTimeout(resolve, jittered);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    })
  );
}

/** @type {number | undefined} */
let hiddenTimer;

function onVisibilityChange() {
  clearTimeout(hiddenTimer);
  if (document.hidden) hiddenTimer = setTimeout(() => control.abort(), PAUSE_WHEN_HIDDEN_FOR);
  else wake();
}

function untilVisible() {
  return /** @type {Promise<void>} */ (
    new Promise((resolve) => {
      const check = () => {
        if (document.hidden) return;
        document.removeEventListener("visibilitychange", check);
        resolve();
      };
      document.addEventListener("visibilitychange", check);
    })
  );
}
