// @ts-check
/** HTTP requests to the daemon. They throw a `Problem` (refused, with a text for people) or `Unreachable`. */

import { authHeaders } from "/page/lib/auth_key.js";
import { Emitter } from "/page/lib/emitter.js";
import { said } from "/page/lib/words.js";

export const auth = new Emitter(); // emits "login_required"
export const missed = new Emitter(); // emits "response" if the connection broke before one was there

export class Problem extends Error {
  /**
   * @param {number} status
   * @param {string} code
   * @param {string} detail
   */
  constructor(status, code, detail) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}

/** The daemon does not answer, or not yet; whether it got the request is unknown. */
export class Unreachable extends Error {}

const TEMPORARY = new Set([502, 503, 504]);

/**
 * @typedef {{ body?: unknown, headers?: Record<string, string>, signal?: AbortSignal }} Options
 * @param {string} method
 * @param {string} path
 * @param {Options} [options]
 * @returns {Promise<any>} the decoded JSON, or the response if it is not JSON
 */
async function call(method, path, { body, headers = {}, signal } = {}) {
  const isFile = body instanceof Blob;
  const isJson = body !== undefined && !isFile;
  const sentHeaders = { ...(isJson ? { "Content-Type": "application/json" } : {}), ...headers, ...authHeaders() };
  const sentBody = isFile ? body : JSON.stringify(body);
  let response;
  try {
    response = await fetch(path, { method, headers: sentHeaders, body: sentBody, signal });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw broken(error);
  }
  return readResponse(response);
}

/**
 * @param {Response} response
 * @returns {Promise<any>}
 */
export async function readResponse(response) {
  const isJson = response.headers.get("Content-Type")?.startsWith("application/json");
  if (response.ok) return isJson ? readJson(response) : response;
  const problem = await response.json().catch(() => ({}));
  const detail = said(problem, "detail") || problem.title || `HTTP ${response.status}`;
  if (TEMPORARY.has(response.status)) throw new Unreachable(detail);
  if (response.status === 401) auth.emit("login_required");
  throw new Problem(response.status, problem.code ?? "", detail);
}

/** @param {Response} response */
async function readJson(response) {
  try {
    return await response.json();
  } catch (error) {
    throw broken(error); // in the middle of the body
  }
}

/** @param {unknown} error */
function broken(error) {
  missed.emit("response");
  return new Unreachable(messageOf(error));
}

/** @param {unknown} error */
export const messageOf = (error) => String(error instanceof Error ? error.message : error);

/**
 * @param {unknown} error
 * @returns {number | undefined} the HTTP status, if the daemon refused
 */
export const statusOf = (error) => (error instanceof Problem ? error.status : undefined);

/** @type {(path: string, options?: Options) => Promise<any>} */
export const get = (path, options) => call("GET", path, options);
/** @type {(path: string, body?: object, options?: Options) => Promise<any>} */
export const post = (path, body = {}, options) => call("POST", path, { body, ...options });
/** @type {(path: string, body: object) => Promise<any>} */
export const put = (path, body) => call("PUT", path, { body });
/** @type {(path: string, body: object) => Promise<any>} */
export const patch = (path, body) => call("PATCH", path, { body });
/** @type {(path: string) => Promise<any>} */
export const remove = (path) => call("DELETE", path);
/** @type {(file: File, signal: AbortSignal) => Promise<Api.UploadView>} */
export const upload = (file, signal) =>
  call("POST", `/api/files?name=${encodeURIComponent(file.name.slice(0, 200))}`, {
    body: file,
    headers: { "Content-Type": file.type || "text/plain" },
    signal,
  });

/** An id for a message, made before the first try: if it is sent twice, the daemon takes it once. */
export const newMessageId = () =>
  `web-${[...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
