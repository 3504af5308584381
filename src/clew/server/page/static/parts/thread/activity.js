// @ts-check
/** An activity of an agent (a command, a change, a plan, …): one line, with its output folded below. */

import { get } from "/page/lib/api.js";
import { h, setContent } from "/page/lib/dom.js";
import { said, t, tOr } from "/page/lib/words.js";
import { countChanges, isDiff, newDiff } from "/page/parts/thread/diff.js";
import { newText } from "/page/parts/thread/text.js";

const OPEN_AT_FIRST = new Set(["change", "plan"]);
const LONG = 4_000; // characters; a longer change is folded

/**
 * @param {Item} item
 * @param {string | null} turn where the complete body of a shortened item can be fetched
 */
export function newActivity(item, turn) {
  if (item.kind === "plan") return plan(item);
  if (item.kind === "gate" || item.kind === "notice" || !(item.body || item.cut)) return line(item);
  const body = h("div", { class: "activity-body" });
  const details = h(
    "details",
    { class: `activity activity-${item.kind}`, "data-item": item.item },
    h("summary", {}, summary(item)),
    body,
  );
  details.addEventListener("toggle", () => details.open && !body.firstChild && showBody(body, item, turn));
  const isDone = item.phase === "done"; // before, the gate that asks about a change shows it
  if (OPEN_AT_FIRST.has(item.kind) && isDone && item.body.length < LONG && !item.cut) details.open = true;
  return details;
}

/** @type {WeakMap<Element, HTMLElement>} an activity that began a sub-agent → what that one does */
const places = new WeakMap();

/**
 * The place for what the sub-agent does that this activity began: right below it, indented.
 * @param {Element} element of the activity, in the page
 * @param {Element} [former] which it replaces
 */
export function placeUnder(element, former = element) {
  const place = places.get(former) ?? h("div", { class: "activity-under" });
  if (element.nextSibling !== place) element.after(place);
  places.set(element, place);
  return place;
}

/** @param {Element} element */
export const hasPlaceUnder = (element) => places.has(element);

/**
 * The elements of items, those of sub-agents under the call that began them.
 * @param {Item[]} items
 * @param {(item: Item) => HTMLElement} newElement
 */
export function nested(items, newElement) {
  const parent = h("div", {});
  /** @type {Map<string, Element>} */
  const known = new Map();
  for (const item of items) {
    const element = newElement(item);
    const above = item.parent ? known.get(item.parent) : undefined;
    (above ? placeUnder(above) : parent).append(element);
    known.set(item.item, element);
  }
  return [...parent.childNodes];
}

/** @param {Item} item */
const line = (item) => h("p", { class: `activity activity-${item.kind}`, "data-item": item.item }, summary(item));

/** @param {Item} item */
function summary(item) {
  const changed = item.kind === "change" && isDiff(item.body) ? countChanges(item.body) : null;
  return [
    h("span", { class: "activity-kind" }, kindOf(item)),
    h(
      item.kind === "command" || item.kind === "change" || item.kind === "tool" ? "code" : "span",
      { class: "activity-title" },
      said(item, "title"),
    ),
    changed &&
      h(
        "span",
        { class: "counts" },
        h("span", { class: "added" }, `+${changed.added}`),
        " ",
        h("span", { class: "gone" }, `−${changed.gone}`),
      ),
    item.replies?.length > 0 && h("strong", { class: "activity-reply" }, `→ ${item.replies.join("; ")}`),
    item.reason && h("q", { class: "activity-reason" }, item.reason),
    outcome(item),
  ];
}

/**
 * The label of an activity. One that has not ended, or was declined, is not in the past tense: it did not happen yet, or
 * never will.
 * @param {Item} item
 */
function kindOf({ kind, phase, outcome }) {
  const isPast = phase === "done" && outcome !== "declined";
  return tOr(isPast ? `activity.${kind}` : `activity.open.${kind}`, tOr(`activity.${kind}`, kind));
}

/** @param {Item} item */
function outcome(item) {
  if (item.phase !== "done")
    return h(
      "span",
      { class: "activity-end is-open" },
      h("span", { class: "dot" }),
      h("span", { class: "unseen" }, t("activity.runs")),
    );
  if (item.outcome === "failed") {
    const text = item.exit_code ? t("activity.exit", { code: item.exit_code }) : t("activity.failed");
    return h("span", { class: "activity-end is-bad" }, text);
  }
  if (item.outcome === "declined") return h("span", { class: "activity-end is-bad" }, t("activity.declined"));
  return null;
}

/**
 * @param {HTMLElement} body
 * @param {Item} item
 * @param {string | null} turn
 */
async function showBody(body, item, turn) {
  setContent(body, content(item));
  if (!item.cut || !turn) return;
  setContent(body, content(item), h("p", { class: "waits" }, t("activity.fetching")));
  try {
    /** @type {Api.TurnView} */
    const { items } = await get(`/api/turns/${turn}`);
    setContent(body, content(items.find((each) => each.item === item.item) ?? item));
  } catch {
    setContent(body, content(item), h("p", { class: "note" }, t("activity.only_part")));
  }
}

/** @param {Item} item */
function content(item) {
  if (item.kind === "thought") return newText(item.body);
  if (item.kind === "change" && isDiff(item.body)) return newDiff(item.body);
  return h("pre", { class: "output", tabindex: "0" }, h("code", {}, item.body));
}

/** @type {Record<string, string>} the mark of a step → its state */
const MARKS = { x: "done", ">": "now", " ": "open" };

/** @param {Item} item */
function plan(item) {
  const lines = item.body ? item.body.split("\n") : item.title.split(" | ");
  const steps = lines
    .filter((line) => line.trim())
    .map((line) => {
      const [, mark = " ", text = line] = line.match(/^\s*(?:[-*]\s*)?\[(.)\]\s*(.*)$/) ?? [];
      const state = MARKS[mark] ?? "open";
      return h("li", { class: `step-${state}` }, text, h("span", { class: "unseen" }, ` (${t(`plan.${state}`)})`));
    });
  return h(
    "section",
    { class: "activity activity-plan", "data-item": item.item, "aria-label": t("activity.plan") },
    h("p", { class: "activity-kind" }, t("activity.plan")),
    h("ol", {}, steps),
  );
}
