/** Keys. A view lends its own while it is shown; the last one that was lent wins. Never while somebody types, nor for
 * those who type on where their field has just gone. */

import { t } from "/page/lib/words.js";

const lent = []; // {keys: Map of "g i" → {words, act}, group}
const WALKING = new Set(["j", "k"]); // these may be held down
const PAUSE = 1_000; // milliseconds
let begun = "";
let pausedUntil = 0;

/** What an act gives back that leaves a key to the next, or to the browser. */
export const PASS = Symbol("pass");
let forget = null;

/** `lend("inbox", {"a": ["key.allow", () => …]})`. Returns what takes them back. */
export function lend(group, keys) {
  const entry = { group, keys: new Map(Object.entries(keys)) };
  lent.push(entry);
  return () => lent.splice(lent.indexOf(entry), 1);
}

/** What can be pressed now, for the overlay: [group, [[key, words]]], the nearest group first. */
export function lentNow() {
  const taken = new Set();
  return lent.toReversed().map(({ group, keys }) => {
    const own = [...keys].filter(([key]) => !taken.has(key));
    own.forEach(([key]) => taken.add(key));
    return [t(`keys.${group}`), own.map(([key, [words]]) => [key, t(words)])];
  });
}

export const areOn = () => localStorage.getItem("clew.keys") !== "off";
export const turnOn = (on) => localStorage.setItem("clew.keys", on ? "on" : "off");

/** The focus was moved by something else than the person: what they press was meant for another place, as long as they
 * go on without a pause. */
export const pauseKeys = () => (pausedUntil = performance.now() + PAUSE);

const isTyping = (target) =>
  target.closest?.("input:not([type=radio]):not([type=checkbox]), textarea, select, [contenteditable]");

/** What this key does, the nearest first. A digit means the key `1-9`, where there is no key of its own. */
function acts(name) {
  const names = /^[1-9]$/.test(name) ? [name, "1-9"] : [name];
  return lent
    .toReversed()
    .flatMap(({ keys }) => names.filter((each) => keys.has(each)).map((each) => keys.get(each)[1]));
}

const begins = (name) => lent.some(({ keys }) => [...keys.keys()].some((key) => key.startsWith(`${name} `)));

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
  if (document.querySelector("dialog[open]")) return;
  if (event.key !== "Escape" && (isTyping(event.target) || !areOn())) return;
  if (event.repeat && !WALKING.has(event.key)) return;
  if (event.key !== "Escape" && performance.now() < pausedUntil) return pauseKeys();
  const name = begun ? `${begun} ${event.key}` : event.key;
  const found = begun && !acts(name).length ? acts(event.key) : acts(name);
  begun = "";
  clearTimeout(forget);
  if (found.length) {
    if (found.some((act) => act(event) !== PASS)) event.preventDefault();
  } else if (begins(event.key)) {
    begun = event.key;
    forget = setTimeout(() => (begun = ""), 1500);
  }
}

addEventListener("keydown", press);

/** Move the focus among `items`; at an end it stays there. */
export function step(items, by) {
  const list = [...items];
  const at = list.findIndex((item) => item === document.activeElement || item.contains(document.activeElement));
  const next = list[Math.max(0, Math.min(list.length - 1, at < 0 ? (by > 0 ? 0 : list.length - 1) : at + by))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}
