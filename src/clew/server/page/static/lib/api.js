/** The one way to the daemon. An error is either a `Problem` (it said no, in words that can be shown) or `Away`. */

import { Hub } from "/page/lib/emitter.js";
import { keyHeader } from "/page/lib/auth_key.js";

export const door = new Hub(); // tells "closed" where one has to log in

export class Problem extends Error {
  constructor(status, code, detail) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}

/** The daemon does not answer, or not yet; whether it heard us is unknown. */
export class Away extends Error {}

const NOT_YET = new Set([502, 503, 504]);

async function call(method, path, { body, headers = {}, signal } = {}) {
  const isJson = body !== undefined && !(body instanceof Blob);
  const sent = { ...(isJson ? { "Content-Type": "application/json" } : {}), ...headers, ...keyHeader() };
  let answer;
  try {
    answer = await fetch(path, { method, headers: sent, body: isJson ? JSON.stringify(body) : body, signal });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Away(String(error.message ?? error));
  }
  return read(answer);
}

export async function read(answer) {
  if (answer.ok) return answer.headers.get("Content-Type")?.startsWith("application/json") ? whole(answer) : answer;
  const problem = await answer.json().catch(() => ({}));
  const words = problem.detail ?? problem.title ?? `HTTP ${answer.status}`;
  if (NOT_YET.has(answer.status)) throw new Away(words);
  if (answer.status === 401) door.tell("closed");
  throw new Problem(answer.status, problem.code ?? "", words);
}

async function whole(answer) {
  try {
    return await answer.json();
  } catch (error) {
    throw new Away(String(error.message ?? error)); // it was cut off on its way
  }
}

export const get = (path, options) => call("GET", path, options);
export const post = (path, body = {}, options) => call("POST", path, { body, ...options });
export const put = (path, body) => call("PUT", path, { body });
export const patch = (path, body) => call("PATCH", path, { body });
export const remove = (path) => call("DELETE", path);
export const upload = (file, signal) =>
  call("POST", `/api/files?name=${encodeURIComponent(file.name.slice(0, 200))}`, {
    body: file,
    headers: { "Content-Type": file.type || "text/plain" },
    signal,
  });

/** An id for a message, drawn before it is first sent: said again, it is the same message. */
export const newId = () =>
  `web-${[...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
