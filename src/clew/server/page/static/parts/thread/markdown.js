// @ts-check
/** Markdown, rendered to safe HTML by the daemon. Only this module sets markup, and only what `POST /api/markdown`
 * returned. */

import { post, Problem } from "/page/lib/api.js";
import { escapeInvisible } from "/page/lib/dom.js";

const policy = globalThis.trustedTypes?.createPolicy("clew", { createHTML: (html) => html });
const CACHE_SIZE = 300;
const BATCH = { characters: 100_000, texts: 100 }; // at most, in one request: the daemon's limits

/**
 * @typedef {Api.RenderedView} Rendered
 * @typedef {PromiseWithResolvers<Rendered>} Waiting
 * @typedef {[text: string, waiting: Waiting[]]} Queued
 */

/** @type {Map<string, Rendered>} */
const cache = new Map();
/** @type {Map<string, Waiting[]>} */
let queued = new Map();

/**
 * @param {string} html of the daemon
 * @returns {DocumentFragment}
 */
export function htmlToNodes(html) {
  const template = document.createElement("template");
  template.innerHTML = policy ? policy.createHTML(escapeInvisible(html)) : escapeInvisible(html);
  return template.content;
}

/**
 * Texts that are rendered at the same moment go into one request.
 * @param {string} text
 * @returns {Promise<Rendered>}
 */
export function renderMarkdown(text) {
  const known = cache.get(text);
  if (known) return Promise.resolve(known);
  if (queued.size === 0) queueMicrotask(renderQueued);
  /** @type {Waiting} */
  const waiting = Promise.withResolvers();
  queued.set(text, [...(queued.get(text) ?? []), waiting]);
  return waiting.promise;
}

async function renderQueued() {
  const texts = [...queued];
  queued = new Map();
  while (texts.length) await renderBatch(texts.splice(0, batchSize(texts)));
}

/**
 * How many of the texts fit into one request.
 * @param {Queued[]} texts
 */
function batchSize(texts) {
  let size = 0;
  const count = texts.findIndex(([text], index) => index >= BATCH.texts || (size += text.length) > BATCH.characters);
  return count < 0 ? texts.length : Math.max(1, count);
}

/**
 * If the daemon refuses a batch, each text is tried alone, so that one does not stop the others.
 * @param {Queued[]} batch
 */
async function renderBatch(batch) {
  try {
    /** @type {Api.MarkdownView} */
    const { rendered } = await post("/api/markdown", { texts: batch.map(([text]) => text) });
    batch.forEach(([text, waiting], index) => {
      addToCache(text, rendered[index]);
      waiting.forEach(({ resolve }) => resolve(rendered[index]));
    });
  } catch (error) {
    if (error instanceof Problem && batch.length > 1) await Promise.all(batch.map((each) => renderBatch([each])));
    else batch.forEach(([, waiting]) => waiting.forEach(({ reject }) => reject(error)));
  }
}

/**
 * @param {string} text
 * @param {Rendered} rendered
 */
function addToCache(text, rendered) {
  cache.set(text, rendered);
  const [oldest] = cache.keys();
  if (cache.size > CACHE_SIZE) cache.delete(oldest);
}
