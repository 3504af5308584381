// @ts-check
/** Keyboard shortcuts. A view adds its own while it is shown; those that were added last win. A letter is a shortcut only
 * if it stands alone: letters that follow each other quickly are text, wherever the focus is. Shortcuts do nothing while
 * somebody types into a field, also if that field has just gone; only those with Alt work there. */

import { focused, isComposing } from "/page/lib/dom.js";
import { t } from "/page/lib/words.js";

/**
 * @typedef {(event: KeyboardEvent) => unknown} Handler
 * @typedef {Record<string, [label: string, handler: Handler]>} Shortcuts by key, such as "a", "1-9", "g i" or "Alt+s"
 */

/** @type {{ group: string, keys: Map<string, [label: string, handler: Handler]> }[]} */
const groups = [];
const MAY_REPEAT = new Set(["j", "k"]); // these may be held down
const AT_ONCE = new Set(["/"]); // moves to a field, which gets the letters that follow
const TEXT_GAP = 300; // milliseconds; letters with less between them are text
const PAUSE = 1_000;
const PREFIX_COUNTS_FOR = 1_500;
/** @type {string[]} the newest letters, each less than TEXT_GAP after the one before */
let letters = [];
let lastLetterAt = -TEXT_GAP;
/** @type {number | undefined} */
let aloneTimer;
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

/**
 * Runs the handlers of a key until one takes it.
 * @param {string} name
 * @param {KeyboardEvent} event
 */
const run = (name, event) => handlersOf(name).some((handler) => handler(event) !== NOT_HANDLED);

const isOffEverywhere = () => document.querySelector("dialog[open]") || !areShortcutsOn();
/** @param {EventTarget | null} target */
const isOff = (target) => isOffEverywhere() || isTyping(target);

/** @param {KeyboardEvent} event */
function onKeydown(event) {
  if (event.ctrlKey || event.metaKey || isComposing(event) || event.defaultPrevented) return;
  if (event.key === "Escape") return void (document.querySelector("dialog[open]") || run("Escape", event));
  if (event.altKey) return onAlt(event);
  if (isOff(event.target)) return void (letters = []);
  if (event.key === "Enter" || event.key === " ") return void (isInText() && !isRepeated() && keepFromButton(event));
  if (event.key.length === 1) onLetter(event);
}

/**
 * Works in a field too, unless the key writes a letter there: on some keyboards Alt+S is ś or ß.
 * @param {KeyboardEvent} event
 */
function onAlt(event) {
  const isText = isTyping(event.target) && !/^[a-z]$/i.test(event.key);
  if (isOffEverywhere() || isText || event.repeat) return;
  if (run(`Alt+${letterOf(event)}`, event)) event.preventDefault();
}

/** @param {KeyboardEvent} event with Alt, some keyboards give another letter than the one on the key */
const letterOf = ({ key, code }) => (/^[a-z]$/i.test(key) ? key : code.replace("Key", "")).toLowerCase();

const isInText = () => performance.now() - lastLetterAt < TEXT_GAP;
const isRepeated = () => letters.length > 1 && letters.every((each) => MAY_REPEAT.has(each));

/**
 * The space or the Enter of a text presses no button. Some browsers press it when the key goes up.
 * @param {KeyboardEvent} event
 */
function keepFromButton(event) {
  lastLetterAt = performance.now();
  letters.push(event.key);
  clearTimeout(aloneTimer);
  event.preventDefault();
  addEventListener("keyup", (up) => up.preventDefault(), { once: true, capture: true });
}

/** @param {KeyboardEvent} event */
function onLetter(event) {
  const { key, target } = event;
  if (event.repeat && !MAY_REPEAT.has(key)) return;
  if (performance.now() < pausedUntil) return void pauseShortcuts();
  letters = isInText() ? [...letters, key] : [key];
  lastLetterAt = performance.now();
  clearTimeout(aloneTimer);
  if (handlersOf(key).length) event.preventDefault();
  if (AT_ONCE.has(key) && letters.length === 1) return void run(key, event);
  if (isRepeated()) return onRepeated(event);
  aloneTimer = setTimeout(() => target === (focused() ?? document.body) && onAlone(event), TEXT_GAP);
}

/**
 * No word has "jj" or "jk" in it, so the first of them need not wait any longer either.
 * @param {KeyboardEvent} event
 */
function onRepeated(event) {
  if (letters.length === 2) run(letters[0], event);
  run(event.key, event);
}

/**
 * One or two letters, and none followed them.
 * @param {KeyboardEvent} event of the last one
 */
function onAlone(event) {
  if (isOff(event.target) || performance.now() < pausedUntil) return;
  const name = prefix && letters.length === 1 ? `${prefix} ${event.key}` : letters.join(" ");
  prefix = "";
  clearTimeout(prefixTimer);
  if (handlersOf(name).length) run(name, event);
  else if (letters.length === 1 && handlersOf(event.key).length) run(event.key, event);
  else if (letters.length === 1 && isPrefix(event.key)) {
    prefix = event.key;
    prefixTimer = setTimeout(() => (prefix = ""), PREFIX_COUNTS_FOR);
  }
}

addEventListener("keydown", onKeydown);
addEventListener("pointerdown", () => (pausedUntil = 0)); // the person has chosen what is meant

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
