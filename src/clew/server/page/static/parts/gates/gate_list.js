// @ts-check
/** A list of gates. A gate that was just drawn or has just moved takes no answer for a moment: the click or key was
 * meant for something else. */

import { focused, setContent } from "/page/lib/dom.js";
import { pauseShortcuts } from "/page/lib/shortcuts.js";

const DISABLED_FOR = 600; // milliseconds

/** @type {WeakMap<HTMLElement, number>} element → timer */
const timers = new WeakMap();

/** @param {HTMLElement} element */
function disableBriefly(element) {
  clearTimeout(timers.get(element));
  element.setAttribute("aria-disabled", "true");
  const timer = setTimeout(() => element.removeAttribute("aria-disabled"), DISABLED_FOR);
  timers.set(element, timer);
}

/** @param {HTMLElement} element */
export const isBrieflyDisabled = (element) => element.getAttribute("aria-disabled") === "true";

/**
 * Ignores clicks on the buttons of a gate while it is briefly disabled.
 * @template {HTMLElement} Guarded
 * @param {Guarded} element
 */
export function guardClicks(element) {
  const onClick = (/** @type {MouseEvent} */ event) => {
    const isButton = event.target instanceof Element && event.target.closest("button");
    if (isButton && isBrieflyDisabled(element)) (event.preventDefault(), event.stopPropagation());
  };
  element.addEventListener("click", onClick, { capture: true });
  return element;
}

/**
 * Sets the gates of a list. Those that are shown already stay as they are, with what was typed into them. If the one
 * with the focus is gone, the next one gets it, or `otherwise` if there is none.
 * @param {HTMLElement} list
 * @param {HTMLElement[]} gates
 * @param {HTMLElement | null} otherwise
 */
export function setGates(list, gates, otherwise) {
  const before = [...list.children];
  if (gates.length === before.length && gates.every((gate) => gate.parentNode === list)) return;
  const index = before.findIndex((gate) => gate.contains(focused()));
  setContent(list, gates);
  gates.forEach(disableBriefly);
  if (index < 0 || list.contains(focused())) return;
  pauseShortcuts();
  (gates[Math.min(index, gates.length - 1)] ?? otherwise)?.focus();
}
