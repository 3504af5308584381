/** A list of what is asked. What was just drawn, or has moved under the hand or the focus, takes no answer for a
 * moment: it was meant for something else. */

import { show } from "/page/lib/dom.js";
import { pauseKeys } from "/page/lib/shortcuts.js";

const REST = 600; // milliseconds

const ends = new WeakMap(); // element → timer

function rest(element) {
  clearTimeout(ends.get(element));
  element.setAttribute("aria-disabled", "true");
  ends.set(
    element,
    setTimeout(() => element.removeAttribute("aria-disabled"), REST),
  );
}

export const rests = (element) => element.getAttribute("aria-disabled") === "true";

/** While it rests, its buttons do nothing. */
export function guard(element) {
  const stop = (event) => {
    if (rests(element) && event.target.closest("button")) (event.preventDefault(), event.stopPropagation());
  };
  element.addEventListener("click", stop, { capture: true });
  return element;
}

/** What is shown already stays as it is, with what was typed into it. Where what had the focus is gone, the next gets
 * it, or `otherwise`. */
export function place(list, elements, otherwise) {
  const before = [...list.children];
  if (elements.length === before.length && elements.every((element) => element.parentNode === list)) return;
  const at = before.findIndex((element) => element.contains(document.activeElement));
  show(list, elements);
  elements.forEach(rest);
  if (at < 0 || list.contains(document.activeElement)) return;
  pauseKeys();
  (elements[Math.min(at, elements.length - 1)] ?? otherwise).focus();
}
