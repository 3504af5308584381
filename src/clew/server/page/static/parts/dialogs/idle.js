// @ts-check
/** The dialog that marks chats as done in which nothing has happened for a while. It says how many, and which. */

import { messageOf, post } from "/page/lib/api.js";
import { h, setContent } from "/page/lib/dom.js";
import { setThread } from "/page/lib/state.js";
import { showStatus, withStatus } from "/page/lib/status_line.js";
import { said, t } from "/page/lib/words.js";
import { openDialog } from "/page/parts/dialogs/dialog.js";

const DAYS = [1, 7, 30, 90, 365];
const DEFAULT_DAYS = "30";
const DAY = 86_400; // seconds
const NAMED = 5; // threads whose titles are shown

/** @type {(days: string, dry_run: boolean) => Promise<Thread[]>} */
const finishIdle = (days, dry_run) => post("/api/threads/done", { idle_for: Number(days) * DAY, dry_run });

export function openIdleDialog() {
  const options = DAYS.map((n) => h("option", { value: String(n) }, t("idle.days", { n })));
  const days = h("select", { value: DEFAULT_DAYS, onchange: () => count() }, options);
  const found = h("div", { role: "status" });
  const yes = h("button", { class: "main", type: "button", onclick: () => finish() });
  const element = openDialog(
    t("idle.title"),
    "idle",
    h("p", {}, t("idle.words")),
    h("label", { class: "idle-days" }, h("span", {}, t("idle.since")), days),
    found,
    h(
      "div",
      { class: "dialog-foot" },
      h("button", { class: "plain", type: "button", "data-first": true, onclick: () => element.close() }, t("sure.no")),
      yes,
    ),
  );
  /** @param {Thread[]} threads */
  const show = (threads) => {
    const titles = threads.slice(0, NAMED).map((thread) => h("li", {}, said(thread, "title") || t("untitled")));
    const more = threads.length - titles.length;
    setContent(
      found,
      threads.length ? h("p", {}, t("idle.found", { n: threads.length })) : h("p", { class: "note" }, t("idle.none")),
      h("ul", { class: "idle-titles" }, titles, more > 0 && h("li", { class: "note" }, t("idle.more", { n: more }))),
    );
    setContent(yes, t("idle.yes", { n: threads.length }));
    yes.disabled = !threads.length;
  };
  const count = async () => {
    const asked = days.value;
    yes.disabled = true;
    try {
      const threads = await finishIdle(asked, true);
      if (asked === days.value) show(threads);
    } catch (error) {
      setContent(found, h("p", { class: "trouble" }, messageOf(error)));
    }
  };
  const finish = async () => {
    yes.disabled = true;
    const threads = await withStatus(t("saving"), finishIdle(days.value, false));
    element.close();
    threads?.forEach(setThread);
    if (threads) showStatus(t("idle.done", { n: threads.length }));
  };
  days.value = DEFAULT_DAYS;
  show([]);
  count();
}
