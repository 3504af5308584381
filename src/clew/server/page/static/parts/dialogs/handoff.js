/** Hand a thread to another surface, with a line while it goes, and a way to take it back until it has gone. */

import { Away, get, post, remove } from "/page/lib/api.js";
import { h, show, worded } from "/page/lib/dom.js";
import { complain, say } from "/page/lib/status_line.js";
import { look } from "/page/lib/state.js";
import { known, t } from "/page/lib/words.js";
import { dialog } from "/page/parts/dialogs/dialog.js";

const WAIT = 20; // seconds of one look
const PATIENCE = 60_000;
const AGAIN = 1_000;

export async function handOff(view, takeBack) {
  if (!view) return;
  const where = h("div", { class: "targets" }, h("p", { class: "waits" }, t("handoff.looking")));
  const words = h("textarea", { rows: "2", placeholder: t("handoff.say.hint"), "aria-label": t("handoff.say") });
  const greets = h("input", { type: "checkbox", checked: true });
  const other = h("input", { type: "text", placeholder: t("handoff.other.hint"), "aria-label": t("handoff.other") });
  const line = h("p", { role: "status", class: "waits", hidden: true });
  const element = dialog(
    t("handoff.title"),
    "handoff",
    h("p", { class: "note" }, t("handoff.words")),
    where,
    h(
      "form",
      { onsubmit: (event) => (event.preventDefault(), other.value.trim() && go(other.value.trim())) },
      h("label", { class: "field" }, h("span", {}, t("handoff.other")), other),
    ),
    h("label", { class: "field" }, h("span", {}, t("handoff.say")), words),
    h("label", { class: "check" }, greets, t("handoff.greets")),
    line,
  );
  const go = (target) => {
    const wish = { thread: view.id, target, say: words.value.trim(), quiet: !greets.checked };
    return move(wish, { element, line, takeBack });
  };
  const targets = await possible();
  show(
    where,
    targets.length ? targets.map((each) => button(each, go)) : h("p", { class: "note" }, worded(t("handoff.none"))),
  );
  where.querySelector("button:not([disabled])")?.focus();
}

/** Without `/api/choices` the surfaces themselves. */
async function possible() {
  try {
    return (await get("/api/choices")).targets;
  } catch {
    return [];
  }
}

function button(each, go) {
  const surface = known(`surface.${each.surface}`, each.surface);
  const isUp = each.state === "up";
  return h(
    "button",
    { class: "plain target", type: "button", disabled: !isUp, title: each.reason, onclick: () => go(each.target) },
    h("strong", {}, surface),
    h("small", {}, isUp ? (each.name ?? "") : each.reason || t("handoff.down")),
  );
}

/** A daemon that is away may still hand it over: nothing is said before it is known. */
const unlessAway = (handoff, asked) =>
  asked.catch(async (error) => {
    if (!(error instanceof Away)) throw error;
    await new Promise((resolve) => setTimeout(resolve, AGAIN));
    return handoff;
  });

const lookAt = (handoff) => unlessAway(handoff, get(`/api/handoffs/${handoff.id}?wait=${WAIT}`));
const takenBack = (handoff) => unlessAway(handoff, remove(`/api/handoffs/${handoff.id}`));

async function move(wish, { element, line, takeBack }) {
  const [name] = wish.target.split(":");
  const surface = known(`surface.${name}`, name);
  line.hidden = false;
  element.querySelectorAll("button.target, textarea, input").forEach((each) => (each.disabled = true));
  try {
    let handoff = await post("/api/handoffs", wish);
    const back = h(
      "button",
      { class: "link", type: "button", onclick: () => remove(`/api/handoffs/${handoff.id}`).catch(complain) },
      t("handoff.take_back"),
    );
    show(line, t("handoff.waits", { surface }), " ", back);
    back.focus();
    const until = Date.now() + PATIENCE;
    while (!handoff.ended_at && Date.now() < until) handoff = await lookAt(handoff);
    while (!handoff.ended_at) handoff = await takenBack(handoff);
    element.close();
    look(wish.thread).catch(() => {});
    if (handoff.state === "completed") say(t("handoff.done", { surface }), takeBack);
    else complain(new Error(t("handoff.failed", { reason: handoff.error ?? "" })));
  } catch (error) {
    element.close();
    complain(error);
  }
}
