// @ts-check
/** One entry of a thread's history: a message of a person, what an agent did and answered, or a line of clew's own. */

import { get } from "/page/lib/api.js";
import { h, icon, setContent } from "/page/lib/dom.js";
import { formatCompactNumber, formatDate, formatDuration, formatFullDate, formatNumber } from "/page/lib/format.js";
import { agentName, said, t, tOr } from "/page/lib/words.js";
import { nested, newActivity } from "/page/parts/thread/activity.js";
import { newText } from "/page/parts/thread/text.js";

/**
 * @typedef {object} Handlers
 * @property {(turn: string) => unknown} onFork begins a fork at a turn
 * @property {(turn: string) => unknown} onGoToTurn
 */

/** @param {Entry} entry */
export const keyOf = (entry) => entry.node ?? `${entry.turn}:${entry.role}:${entry.at}`;

/**
 * @param {Entry} entry
 * @param {Handlers} handlers
 */
export function newEntry(entry, handlers) {
  if (entry.role === "agent") return agentEntry(entry, handlers);
  if (entry.role === "person") return personEntry(entry);
  return h("p", { class: "entry by-clew", "data-key": keyOf(entry), tabindex: "-1" }, said(entry, "text"));
}

/** @param {Entry} entry */
function personEntry(entry) {
  return h(
    "article",
    {
      class: "entry by-person",
      "data-key": keyOf(entry),
      tabindex: "-1",
      "aria-label": t("entry.by", { who: authorName(entry) }),
    },
    h(
      "header",
      {},
      h("span", { class: "who" }, authorName(entry)),
      timeElement(entry.at),
      entry.outside && h("span", { class: "tag" }, t("entry.outside")),
    ),
    h("div", { class: "said" }, entry.text),
    entry.files.length > 0 &&
      h(
        "ul",
        { class: "files", "aria-label": t("files") },
        entry.files.map((file) => h("li", {}, icon("clip"), file)),
      ),
  );
}

/** @param {Entry} entry */
const authorName = ({ author, role }) => (author === "you" ? t("you") : author || t(`role.${role}`));

/**
 * @param {Entry} entry
 * @param {Handlers} handlers
 */
function agentEntry(entry, { onFork, onGoToTurn }) {
  const texts = entry.items.filter((item) => item.kind === "text");
  const isAmongItems = texts.some((item) => item.body === entry.text); // it stands where it was said
  const items = nested(entry.items, (item) =>
    item.kind === "text" ? newText(item.body) : newActivity(item, entry.turn),
  );
  return h(
    "article",
    {
      class: `entry by-agent is-${entry.state ?? "completed"}`,
      "data-key": keyOf(entry),
      "data-turn": entry.turn,
      tabindex: "-1",
      "aria-label": t("entry.by", { who: authorName(entry) }),
    },
    h(
      "header",
      {},
      h("span", { class: "who" }, authorName(entry)),
      timeElement(entry.at),
      entry.cut ? cutTag(entry, onGoToTurn) : stateTag(entry),
      entry.outside && h("span", { class: "tag" }, t("entry.outside")),
      forkButton(entry, onFork),
    ),
    entry.asked && h("p", { class: "note" }, t("opinion.asked", { who: askerName(entry.asked), question: entry.asked.question })),
    entry.prelude && entry.turn && toldLine(entry.turn, entry.prelude),
    items,
    entry.text && !isAmongItems && h("div", { class: "answer" }, newText(said(entry, "text"))),
    entry.error && entry.error !== entry.text && h("p", { class: "trouble" }, said(entry, "error")),
    footer(entry),
  );
}

/** @param {Api.Asked} asked */
const askerName = ({ by }) => (by === "you" ? t("you") : by);

/**
 * That its agent was told what had happened before. Opened, it shows the text as the agent got it.
 * @param {string} turn
 * @param {Api.PreludeSummary} prelude
 */
function toldLine(turn, { runtime, messages }) {
  const text = h("pre", { class: "prelude" });
  const element = h(
    "details",
    { class: "note told" },
    h("summary", {}, t("prelude.told", { runtime: agentName(runtime), n: messages })),
    text,
  );
  element.addEventListener("toggle", async () => {
    if (!element.open || text.textContent) return;
    /** @type {Api.Prelude | null} */
    const found = await get(`/api/turns/${turn}/prelude`).catch(() => null);
    setContent(text, found ? found.text : t("prelude.failed"));
  });
  return element;
}

/** @param {Entry} entry */
function stateTag(entry) {
  const { state, stopped_by: by } = entry;
  if (!state || state === "completed") return null;
  const who = state === "interrupted" && by ? t("turn.stopped_by", { who: by === "you" ? t("you") : by }) : null;
  return h("span", { class: `tag is-${state}` }, who ?? tOr(`turn.${state}`, state));
}

/**
 * The turn was cut off. The turn that continues it is known at once, or only after a person was asked.
 * @param {Entry} entry
 * @param {Handlers["onGoToTurn"]} onGoToTurn
 */
export function cutTag({ continued_by: next }, onGoToTurn) {
  return h(
    "span",
    { class: "tag is-interrupted is-cut" },
    t("turn.cut"),
    next && [" · ", h("button", { class: "link", type: "button", onclick: () => onGoToTurn(next) }, t("turn.goes_on"))],
  );
}

/**
 * @param {Entry} entry
 * @param {Handlers["onFork"]} onFork
 */
function forkButton({ turn }, onFork) {
  const label = t("fork.here");
  const onclick = () => turn && onFork(turn);
  return (
    turn &&
    h("button", { class: "quiet fork", type: "button", title: label, "aria-label": label, onclick }, icon("fork"))
  );
}

/** @param {Entry} entry */
function footer({ turn, at, started_at: startedAt, waited, usage }) {
  return h(
    "footer",
    {},
    h("span", { class: "receipts", "data-turn": turn }),
    startedAt && h("span", {}, formatDuration(at - startedAt - waited)),
    usage &&
      usage.total_tokens > 0 &&
      h(
        "span",
        { title: t("usage.whole", usageValues(usage)) },
        t("usage.brief", { tokens: formatCompactNumber(usage.total_tokens) }),
      ),
  );
}

/** @param {Api.Usage} usage */
const usageValues = (usage) => ({
  input: formatNumber(usage.input_tokens),
  cached: formatNumber(usage.cached_input_tokens),
  output: formatNumber(usage.output_tokens),
  reasoning: formatNumber(usage.reasoning_tokens),
});

/** @param {number} at */
const timeElement = (at) =>
  at ? h("time", { datetime: new Date(at).toISOString(), title: formatFullDate(at) }, formatDate(at)) : null;
