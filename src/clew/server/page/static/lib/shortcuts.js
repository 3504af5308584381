// @ts-check
/** Keyboard shortcuts. A view adds its own while it is shown; those that were added last win. They do nothing while
 * somebody types, also if the field they type into has just gone. */

import { focused } from "/page/lib/dom.js";
import { t } from "/page/lib/words.js";

/**
 * @typedef {(event: KeyboardEvent) => unknown} Handler
 * @typedef {Record<string, [label: string, handler: Handler]>} Shortcuts by key, such as "a", "1-9" or "g i"
 */

/** @type {{ group: string, keys: Map<string, [label: string, handler: Handler]> }[]} */
const groups = [];
const MAY_REPEAT = new Set(["j", "k"]); // these may be held down
const PAUSE = 1_000; // milliseconds
const PREFIX_COUNTS_FOR = 1_500;
let prefix = ""; // the first key of a pair such as "g i"
/** @type {number | undefined} */
let prefixTimer;
let pausedUntil = 0;

/** A handler returns this to leave the key to the next handler, or to the browser. */
export const NOT_HANDLED = Symbol("not handled");

/**
 * `addShortcuts("inbox", { a: ["shortcut.allow", () => …] })`. Returns a function that removes them.
 * @param {string} group
 * @param {Shortcuts} shortcuts
 */
export function addShortcuts(group, shortcuts) {
  const entry = { group, keys: new Map(Object.entries(shortcuts)) };
  groups.push(entry);
  return () => groups.splice(groups.indexOf(entry), 1);
}

/**
 * The shortcuts that work now, the newest group first.
 * @returns {{ group: string, keys: { key: string, label: string }[] }[]}
 */
export function currentShortcuts() {
  const listed = new Set();
  return groups.toReversed().map(({ group, keys }) => {
    const own = [...keys].filter(([key]) => !listed.has(key));
    own.forEach(([key]) => listed.add(key));
    return { group: t(`shortcuts.${group}`), keys: own.map(([key, [label]]) => ({ key, label: t(label) })) };
  });
}

export const areShortcutsOn = () => localStorage.getItem("clew.keys") !== "off";
/** @param {boolean} on */
export const setShortcutsOn = (on) => localStorage.setItem("clew.keys", on ? "on" : "off");

/** The page, not the person, has moved the focus. Keys do nothing until the person pauses: they were meant for what had
 * the focus before. */
export const pauseShortcuts = () => (pausedUntil = performance.now() + PAUSE);

/** @param {EventTarget | null} target */
const isTyping = (target) =>
  target instanceof Element &&
  target.closest("input:not([type=radio]):not([type=checkbox]), textarea, select, [contenteditable]");

/**
 * The handlers of a key, newest first. A digit also means the key `1-9`.
 * @param {string} name
 */
function handlersOf(name) {
  const names = /^[1-9]$/.test(name) ? [name, "1-9"] : [name];
  const found = groups.toReversed().flatMap(({ keys }) => names.map((each) => keys.get(each)));
  return found.flatMap((shortcut) => (shortcut ? [shortcut[1]] : []));
}

/** @param {string} name */
const isPrefix = (name) => groups.some(({ keys }) => [...keys.keys()].some((key) => key.startsWith(`${name} `)));

/** @param {KeyboardEvent} event */
function onKeydown(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
  if (document.querySelector("dialog[open]")) return;
  if (event.key !== "Escape" && (isTyping(event.target) || !areShortcutsOn())) return;
  if (event.repeat && !MAY_REPEAT.has(event.key)) return;
  if (event.key !== "Escape" && performance.now() < pausedUntil) return pauseShortcuts();
  const name = prefix ? `${prefix} ${event.key}` : event.key;
  const handlers = prefix && !handlersOf(name).length ? handlersOf(event.key) : handlersOf(name);
  prefix = "";
  clearTimeout(prefixTimer);
  if (handlers.length) {
    if (handlers.some((handler) => handler(event) !== NOT_HANDLED)) event.preventDefault();
  } else if (isPrefix(event.key)) {
    prefix = event.key;
    prefixTimer = setTimeout(() => (prefix = ""), PREFIX_COUNTS_FOR);
  }
}

addEventListener("keydown", onKeydown);

/**
 * Moves the focus to the next (`by` is 1) or previous (-1) of `items`; at an end it stays.
 * @param {Iterable<Element>} items
 * @param {number} by
 */
export function moveFocus(items, by) {
  const list = /** @type {HTMLElement[]} */ ([...items]);
  const index = list.findIndex((item) => item.contains(focused()));
  const wanted = index < 0 ? (by > 0 ? 0 : list.length - 1) : index + by;
  const next = list[Math.max(0, Math.min(list.length - 1, wanted))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}
