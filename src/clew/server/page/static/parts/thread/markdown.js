/** Markdown, made into safe HTML by the daemon. This file is the only one that sets markup, and only what came from
 * `POST /api/markdown`. */

import { post, Problem } from "/page/lib/api.js";
import { visible } from "/page/lib/dom.js";

const policy = globalThis.trustedTypes?.createPolicy("clew", { createHTML: (html) => html });
const KEPT = 300;
const AT_ONCE = { characters: 100_000, texts: 100 }; // in one request

const kept = new Map(); // text → {html, stable, html_stable}
let asked = new Map(); // text → [resolve, reject][]

/** Nodes of a piece of the daemon's HTML. */
export function nodes(html) {
  const room = document.createElement("template");
  room.innerHTML = policy ? policy.createHTML(visible(html)) : visible(html);
  return room.content;
}

/** `{html, stable, html_stable}` of a text; those that are asked for in one moment go in one request. */
export function render(text) {
  const known = kept.get(text);
  if (known) return Promise.resolve(known);
  return new Promise((resolve, reject) => {
    if (asked.size === 0) queueMicrotask(ask);
    if (!asked.has(text)) asked.set(text, []);
    asked.get(text).push([resolve, reject]);
  });
}

async function ask() {
  const waiting = [...asked];
  asked = new Map();
  while (waiting.length) await answer(waiting.splice(0, fitting(waiting)));
}

/** How many of them go in one request: the daemon bounds it. */
function fitting(waiting) {
  let size = 0;
  const count = waiting.findIndex(([text], at) => at >= AT_ONCE.texts || (size += text.length) > AT_ONCE.characters);
  return count < 0 ? waiting.length : Math.max(1, count);
}

/** What the daemon refuses is asked for one by one, so that one text does not cost the others theirs. */
async function answer(some) {
  try {
    const { rendered } = await post("/api/markdown", { texts: some.map(([text]) => text) });
    some.forEach(([text, ears], number) => {
      keep(text, rendered[number]);
      ears.forEach(([resolve]) => resolve(rendered[number]));
    });
  } catch (error) {
    if (error instanceof Problem && some.length > 1) return Promise.all(some.map((each) => answer([each])));
    some.forEach(([, ears]) => ears.forEach(([, reject]) => reject(error)));
  }
}

function keep(text, made) {
  kept.set(text, made);
  if (kept.size > KEPT) kept.delete(kept.keys().next().value);
}
