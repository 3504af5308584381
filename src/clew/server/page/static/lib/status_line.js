/** The line at the foot of the page: what is waited for, what was done, and how to take it back. Read out to those who
 * do not see it. */

import { Away } from "/page/lib/api.js";
import { h, icon, show } from "/page/lib/dom.js";
import { t } from "/page/lib/words.js";

const STAYS = 6_000;
const STAYS_WITH_UNDO = 12_000;

const line = h("div", { class: "says", role: "status", "aria-live": "polite" });
const alarm = h("div", { class: "says says-alarm", role: "alert" });
const aside = h("div", { class: "unseen", role: "status", "aria-live": "polite" });
export const lines = h("div", { class: "lines" }, line, alarm, aside);

/** For those who do not see it happen. */
export const announce = (words) => show(aside, words);

let timer = null;

/** Something was done. `undo` is what takes it back. */
export function say(words, undo = null) {
  clearTimeout(timer);
  const back = undo && h("button", { class: "link", type: "button", onclick: () => (hush(), undo()) }, t("undo"));
  show(line, h("p", {}, words), back, close(hush));
  timer = setTimeout(hush, undo ? STAYS_WITH_UNDO : STAYS);
}

/** Something was refused or went wrong; it stays until it is closed. */
export function complain(error) {
  const words = error instanceof Away ? t("away.not_done") : (error.message ?? String(error));
  show(
    alarm,
    h("p", {}, words),
    close(() => show(alarm)),
  );
}

const close = (onclick) =>
  h("button", { class: "quiet", type: "button", "aria-label": t("close"), onclick }, icon("close"));

function hush() {
  clearTimeout(timer);
  show(line);
}

/** A line while `work` takes its time; what goes wrong is said. Gives undefined then. */
export async function during(words, work) {
  const slow = setTimeout(() => show(line, h("p", { class: "waits" }, words)), 150);
  try {
    const done = await work;
    show(alarm);
    return done;
  } catch (error) {
    complain(error);
    return undefined;
  } finally {
    clearTimeout(slow);
    if (line.querySelector(".waits")) show(line);
  }
}
