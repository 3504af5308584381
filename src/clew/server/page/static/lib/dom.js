/** Elements from words and values. Whatever is given as a child is text, never markup, and all of it can be seen. */

const SVG = "http://www.w3.org/2000/svg";

/** `h("p", {class: "note"}, "Hello ", h("b", {}, name))`. `onclick` and the like listen; `true` is a bare attribute;
 * `null`, `undefined` and `false` leave a prop or a child out. */
export function h(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

export function svg(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

const TOLD = new Set(["title", "aria-label", "placeholder"]); // attributes that people read

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "hidden") element[name] = value;
    else element.setAttribute(name, value === true ? "" : TOLD.has(name) ? visible(value) : value);
  }
  element.append(...nodes(children));
  return element;
}

/** Replace what an element holds. What stays in it, in its order, is never taken out, so it keeps its focus. */
export function show(element, ...children) {
  const wanted = nodes(children);
  const kept = new Set(wanted);
  for (const child of [...element.childNodes]) if (!kept.has(child)) child.remove();
  let next = element.firstChild;
  for (const child of wanted) {
    if (child === next) next = next.nextSibling;
    else element.insertBefore(child, next);
  }
  return element;
}

const REACHED = "a, button, input, select, textarea, summary, [tabindex]";

/** `show` for what is drawn anew. Who had the focus in it has it again, in the row of the same `data-row`; where that is
 * gone the element itself has it, so that nothing else is pressed by mistake. */
export function redraw(element, ...children) {
  const had = element.contains(document.activeElement) ? document.activeElement : null;
  const row = had?.closest("[data-row]");
  const number = row && reached(row).indexOf(had);
  show(element, ...children);
  if (!had || element.contains(document.activeElement)) return element;
  const same = row && [...element.querySelectorAll("[data-row]")].find((each) => each.dataset.row === row.dataset.row);
  const again = same && reached(same)[number];
  if (!again) element.tabIndex = -1;
  (again ?? element).focus({ preventScroll: true });
  return element;
}

const reached = (row) => [row, ...row.querySelectorAll(REACHED)].filter((each) => each.matches(REACHED));

/** Each child as a node; what is left out is left out. */
const nodes = (children) =>
  children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(visible(child))));

// The same as `clew.support.text.visible`: controls but for newline and tab, and marks that turn the direction of what follows.
const UNSHOWN = /[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;

/** Text that cannot pretend to be another: what would not be seen is shown as an escape such as `\u202e`. */
export const visible = (text) =>
  String(text)
    .toWellFormed()
    .replace(UNSHOWN, (found) => {
      const code = found.charCodeAt(0).toString(16);
      return code.length > 2 ? `\\u${code}` : `\\x${code.padStart(2, "0")}`;
    });

/** The key that does it, for the eye; `aria-keyshortcuts` says it to others. */
export const cap = (key) => h("kbd", { "aria-hidden": "true" }, key);

/** Words of ours in which `such` is code. */
export const worded = (words) => words.split("`").map((part, at) => (at % 2 ? h("code", {}, part) : part));

/** A small drawing from the one set that the page has. */
export function icon(name) {
  return svg(
    "svg",
    { class: "icon", viewBox: "0 0 20 20", "aria-hidden": "true", focusable: "false" },
    svg("path", { d: ICONS[name] }),
  );
}

const ICONS = {
  plus: "M10 4v12M4 10h12",
  back: "M12 4l-6 6 6 6",
  send: "M10 16V4M5 9l5-5 5 5",
  stop: "M5.500 5.500h9v9h-9z",
  clip: "M14 8.500l-5 5a2.500 2.500 0 0 1-3.500-3.500l6-6a3.500 3.500 0 0 1 5 5l-6 6",
  close: "M5 5l10 10M15 5L5 15",
  more: "M4.500 10h.01M10 10h.01M15.500 10h.01",
  sun: "M10 6.500a3.500 3.500 0 1 0 0 7 3.500 3.500 0 0 0 0-7M10 2v1.500M10 16.500V18M2 10h1.500M16.500 10H18M4.300 4.300l1.100 1.100M14.600 14.600l1.100 1.100M4.300 15.700l1.100-1.100M14.600 5.400l1.100-1.100",
  moon: "M16 12.200A6.800 6.800 0 0 1 7.800 4a6.800 6.800 0 1 0 8.200 8.200z",
  keys: "M3 6h14v8H3zM6 9h.01M9 9h.01M12 9h.01M14.500 9h.01M7 11.500h6",
  folder: "M3 6a1 1 0 0 1 1-1h4l1.500 2H16a1 1 0 0 1 1 1v6a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1z",
  search: "M9 4a5 5 0 1 0 0 10A5 5 0 0 0 9 4zM13 13l4 4",
  threads: "M4 5.500h12M4 10h12M4 14.500h7",
  inbox: "M3 11l2.500-6.500h9L17 11v4.500H3zM3 11h4l1 2h4l1-2h4",
  health: "M2.500 10.500H6l2-5.500 3.500 10 2-4.500h4",
  fork: "M6 4v12M6 10c5 0 8-1 8-5M11.500 7L14 4.500 16.500 7",
  phone: "M7 3h6a1 1 0 0 1 1 1v12a1 1 0 0 1-1 1H7a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1zM9.500 14.500h1",
  check: "M4.500 10.500l3.500 3.500 7.500-8",
};
