/** Something an agent did on its way: one line, with its output folded below. */

import { get } from "/page/lib/api.js";
import { h, show } from "/page/lib/dom.js";
import { known, t } from "/page/lib/words.js";
import { counts, diff, isDiff } from "/page/parts/thread/diff.js";
import { wholeText } from "/page/parts/thread/text.js";

const UNFOLDED = new Set(["change", "plan"]);
const LONG = 4_000; // characters of a change that is shown without being asked for

/** `item` is as the API gives it; `turn` is where the whole of a cut body can be had. */
export function deed(item, turn) {
  if (item.kind === "plan") return plan(item);
  if (item.kind === "gate" || item.kind === "notice" || !(item.body || item.cut)) return line(item);
  const body = h("div", { class: "deed-body" });
  const details = h(
    "details",
    { class: `deed deed-${item.kind}`, "data-item": item.item },
    h("summary", {}, head(item)),
    body,
  );
  details.addEventListener("toggle", () => details.open && !body.firstChild && unfold(body, item, turn));
  if (UNFOLDED.has(item.kind) && item.body.length < LONG && !item.cut) details.open = true;
  return details;
}

const line = (item) => h("p", { class: `deed deed-${item.kind}`, "data-item": item.item }, head(item));

function head(item) {
  const changed = item.kind === "change" && isDiff(item.body) ? counts(item.body) : null;
  return [
    h("span", { class: "deed-kind" }, kindOf(item)),
    h(
      item.kind === "command" || item.kind === "change" || item.kind === "tool" ? "code" : "span",
      { class: "deed-title" },
      item.title,
    ),
    changed &&
      h(
        "span",
        { class: "counts" },
        h("span", { class: "added" }, `+${changed.added}`),
        " ",
        h("span", { class: "gone" }, `−${changed.gone}`),
      ),
    item.reason && h("q", { class: "deed-reason" }, item.reason),
    ending(item),
  ];
}

/** What has not ended may not even have begun: it may wait for a yes. */
const kindOf = ({ kind, phase }) =>
  known(phase === "done" ? `deed.${kind}` : `deed.open.${kind}`, known(`deed.${kind}`, kind));

function ending(item) {
  if (item.phase !== "done")
    return h(
      "span",
      { class: "deed-end is-open" },
      h("span", { class: "dot" }),
      h("span", { class: "unseen" }, t("deed.runs")),
    );
  if (item.outcome === "failed") {
    const words = item.exit_code ? t("deed.exit", { code: item.exit_code }) : t("deed.failed");
    return h("span", { class: "deed-end is-bad" }, words);
  }
  if (item.outcome === "declined") return h("span", { class: "deed-end is-bad" }, t("deed.declined"));
  return null;
}

async function unfold(body, item, turn) {
  show(body, content(item));
  if (!item.cut || !turn) return;
  show(body, content(item), h("p", { class: "waits" }, t("deed.fetching")));
  try {
    const whole = (await get(`/api/turns/${turn}`)).items.find((each) => each.item === item.item);
    show(body, content(whole ?? item));
  } catch {
    show(body, content(item), h("p", { class: "note" }, t("deed.only_part")));
  }
}

function content(item) {
  if (item.kind === "thought") return wholeText(item.body);
  if (item.kind === "change" && isDiff(item.body)) return diff(item.body);
  return h("pre", { class: "output", tabindex: "0" }, h("code", {}, item.body));
}

const MARKS = { x: "done", ">": "now", " ": "open" };

function plan(item) {
  const lines = item.body ? item.body.split("\n") : item.title.split(" | ");
  const steps = lines
    .filter((each) => each.trim())
    .map((each) => {
      const [, mark = " ", words = each] = each.match(/^\s*(?:[-*]\s*)?\[(.)\]\s*(.*)$/) ?? [];
      const state = MARKS[mark] ?? "open";
      return h("li", { class: `step-${state}` }, words, h("span", { class: "unseen" }, ` (${t(`plan.${state}`)})`));
    });
  return h(
    "section",
    { class: "deed deed-plan", "data-item": item.item, "aria-label": t("deed.plan") },
    h("p", { class: "deed-kind" }, t("deed.plan")),
    h("ol", {}, steps),
  );
}
