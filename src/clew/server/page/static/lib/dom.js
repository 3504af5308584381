// @ts-check
/** Builds and updates elements. Every string that is given as a child becomes text, never markup, and none of its
 * characters is invisible. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * `h("p", { class: "note" }, "Hello ", h("b", {}, name))`. A prop such as `onclick` adds a listener, and `true` sets an
 * attribute without a value. A prop or a child that is `null`, `undefined` or `false` is left out.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Props} [props]
 * @param {...Child} children
 */
export function h(tag, props = {}, ...children) {
  return setUp(document.createElement(tag), props, children);
}

/**
 * The same for SVG.
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Props} [props]
 * @param {...Child} children
 */
export function svg(tag, props = {}, ...children) {
  return setUp(document.createElementNS(SVG, tag), props, children);
}

const READ_BY_PEOPLE = new Set(["title", "aria-label", "placeholder"]);

/**
 * @template {Element} Built
 * @param {Built} element
 * @param {Props} props
 * @param {Child[]} children
 */
function setUp(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "hidden") Object.assign(element, { [name]: value });
    else if (value === true) element.setAttribute(name, "");
    else element.setAttribute(name, READ_BY_PEOPLE.has(name) ? escapeInvisible(value) : String(value));
  }
  element.append(...toNodes(children));
  return element;
}

/**
 * Replaces the children of an element. A child that stays, in the same order, is never removed, so it keeps its focus.
 * @template {Element} Parent
 * @param {Parent} element
 * @param {...Child} children
 */
export function setContent(element, ...children) {
  const wanted = toNodes(children);
  const staying = new Set(wanted);
  for (const child of [...element.childNodes]) if (!staying.has(child)) child.remove();
  let next = element.firstChild;
  for (const child of wanted) {
    if (child === next) next = next.nextSibling;
    else element.insertBefore(child, next);
  }
  return element;
}

const FOCUSABLE = "a, button, input, select, textarea, summary, [tabindex]";

/**
 * `setContent` for children that are built again. The focus goes to the same control in the row with the same
 * `data-row`; if that row is gone, to the element itself, so that nothing else is pressed by mistake.
 * @template {HTMLElement} Parent
 * @param {Parent} element
 * @param {...Child} children
 */
export function redrawContent(element, ...children) {
  const before = focused();
  const had = element.contains(before) ? before : null;
  const row = had?.closest("[data-row]");
  const position = row && had ? focusables(row).indexOf(had) : -1;
  setContent(element, ...children);
  if (!had || element.contains(focused())) return element;
  const sameRow =
    row && [...element.querySelectorAll("[data-row]")].find((each) => each.dataset.row === row.dataset.row);
  const same = sameRow && focusables(sameRow)[position];
  if (!same) element.tabIndex = -1;
  (same ?? element).focus({ preventScroll: true });
  return element;
}

/**
 * Whether a key belongs to an input method, such as the Enter that chooses 你好. Safari says so only by the code 229.
 * @param {KeyboardEvent} event
 */
export const isComposing = (event) => event.isComposing || event.keyCode === 229;

/** Whether fingers, not keys and a mouse, are at work: a field with the focus would bring a keyboard over the page. */
export const isTouch = () => matchMedia("(pointer: coarse)").matches;

/** The element that has the focus. */
export const focused = () => /** @type {HTMLElement | null} */ (document.activeElement);

/** @param {HTMLElement} row */
const focusables = (row) => [row, ...row.querySelectorAll(FOCUSABLE)].filter((each) => each.matches(FOCUSABLE));

/**
 * @param {any[]} children
 * @returns {ChildNode[]}
 */
const toNodes = (children) =>
  children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) =>
      child instanceof Node ? /** @type {ChildNode} */ (child) : document.createTextNode(escapeInvisible(child)),
    );

// The same as `clew.support.text.visible`: control characters except newline and tab, and marks that change direction.
// eslint-disable-next-line no-control-regex
const INVISIBLE = /[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;

/**
 * Shows invisible characters as escapes such as `\u202e`, so that no text can look like another.
 * @param {unknown} text
 */
export const escapeInvisible = (text) =>
  String(text)
    .toWellFormed()
    .replace(INVISIBLE, (found) => {
      const code = found.charCodeAt(0).toString(16);
      return code.length > 2 ? `\\u${code}` : `\\x${code.padStart(2, "0")}`;
    });

/**
 * A picture of a key. Screen readers skip it: they get `aria-keyshortcuts`.
 * @param {string} key
 */
export const keyCap = (key) => h("kbd", { "aria-hidden": "true" }, key);

/**
 * A text of ours, in which `such` is code.
 * @param {string} text
 */
export const withCode = (text) => text.split("`").map((part, index) => (index % 2 ? h("code", {}, part) : part));

/** @param {keyof typeof ICONS} name */
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
