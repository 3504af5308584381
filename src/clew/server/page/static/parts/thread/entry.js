/** One piece of a thread's history: what a person said, what an agent did and answered, a line of clew's own. */

import { h, icon } from "/page/lib/dom.js";
import { brief, clock, number, span, when, whole } from "/page/lib/format.js";
import { known, t } from "/page/lib/words.js";
import { deed } from "/page/parts/thread/activity.js";
import { wholeText } from "/page/parts/thread/text.js";

export const keyOf = (passage) => passage.node ?? `${passage.turn}:${passage.role}:${passage.at}`;

/** `onfork` and `onward` get a turn: to begin anew from, to go to. */
export function passage(told, { onfork, onward }) {
  if (told.role === "agent") return agent(told, onfork, onward);
  if (told.role === "person") return person(told);
  return h("p", { class: "passage by-clew", "data-key": keyOf(told), tabindex: "-1" }, told.text);
}

function person(told) {
  return h(
    "article",
    {
      class: "passage by-person",
      "data-key": keyOf(told),
      tabindex: "-1",
      "aria-label": t("passage.by", { who: name(told) }),
    },
    h(
      "header",
      {},
      h("span", { class: "who" }, name(told)),
      time(told.at),
      told.outside && h("span", { class: "tag" }, t("passage.outside")),
    ),
    h("div", { class: "said" }, told.text),
    told.files.length > 0 &&
      h(
        "ul",
        { class: "files", "aria-label": t("files") },
        told.files.map((file) => h("li", {}, icon("clip"), file)),
      ),
  );
}

const name = (told) => (told.author === "you" ? t("you") : told.author || t(`role.${told.role}`));

function agent(told, onfork, onward) {
  const texts = told.items.filter((item) => item.kind === "text");
  const isSaid = texts.at(-1)?.body === told.text; // some runtimes keep the answer among what was said on the way
  const items = told.items.map((item) => (item.kind === "text" ? wholeText(item.body) : deed(item, told.turn)));
  return h(
    "article",
    {
      class: `passage by-agent is-${told.state ?? "completed"}`,
      "data-key": keyOf(told),
      "data-turn": told.turn,
      tabindex: "-1",
      "aria-label": t("passage.by", { who: name(told) }),
    },
    h(
      "header",
      {},
      h("span", { class: "who" }, name(told)),
      time(told.at),
      told.cut ? cutTag(told, onward) : state(told),
      told.outside && h("span", { class: "tag" }, t("passage.outside")),
      forkButton(told, onfork),
    ),
    items,
    told.text && !isSaid && h("div", { class: "answer" }, wholeText(told.text)),
    foot(told),
  );
}

const state = (told) =>
  told.state && told.state !== "completed"
    ? h("span", { class: `tag is-${told.state}` }, known(`turn.${told.state}`, told.state))
    : null;

/** Nobody stopped it. Where it goes on is known at once, or only after a person was asked. */
export function cutTag(told, onward) {
  const go = () => onward(told.continued_by);
  return h(
    "span",
    { class: "tag is-interrupted is-cut" },
    t("turn.cut"),
    told.continued_by && [" · ", h("button", { class: "link", type: "button", onclick: go }, t("turn.goes_on"))],
  );
}

function forkButton(told, onfork) {
  const words = t("fork.here");
  const fork = () => onfork(told.turn);
  return (
    told.turn &&
    h("button", { class: "quiet fork", type: "button", title: words, "aria-label": words, onclick: fork }, icon("fork"))
  );
}

function foot(told) {
  return h(
    "footer",
    {},
    h("span", { class: "receipts", "data-turn": told.turn }),
    took(told),
    told.usage?.total_tokens > 0 &&
      h(
        "span",
        { title: t("usage.whole", usage(told.usage)) },
        t("usage.brief", { tokens: brief(told.usage.total_tokens) }),
      ),
  );
}

const took = (told) => (told.started_at ? h("span", {}, span(told.at - told.started_at)) : null);

const usage = (tokens) => ({
  input: number(tokens.input_tokens),
  cached: number(tokens.cached_input_tokens),
  output: number(tokens.output_tokens),
  reasoning: number(tokens.reasoning_tokens),
});

const time = (at) => (at ? h("time", { datetime: new Date(at).toISOString(), title: whole(at) }, when(at)) : null);

/** `reached Telegram 14:02:11, once`. */
export function receipt(row) {
  const surface = row.conversation ? row.conversation.split(":")[0] : "";
  const values = {
    surface: known(`surface.${surface}`, surface),
    at: row.sent_at ? clock(row.sent_at) : "",
    n: row.attempts,
    error: row.error ?? "",
  };
  if (row.state === "sent")
    return h(
      "span",
      { class: "receipt", title: row.message_id ?? "" },
      t(row.attempts > 1 ? "receipt.sent_after" : "receipt.sent", values),
    );
  if (row.state === "failed")
    return h("span", { class: "receipt is-bad", title: row.error ?? "" }, t("receipt.failed", values));
  if (row.state === "pending" || row.state === "sending")
    return h("span", { class: "receipt", title: row.error ?? "" }, t("receipt.pending", values));
  return null;
}
