/** What can be done with a thread: stop, hand off and take back, fork, done, cancel, look closer, check, release. */

import { post } from "/page/lib/api.js";
import { h, icon, show } from "/page/lib/dom.js";
import { during, say } from "/page/lib/status_line.js";
import { keep } from "/page/lib/state.js";
import { t } from "/page/lib/words.js";
import { askedBefore } from "/page/parts/gates/gate_history.js";
import { details } from "/page/parts/dialogs/details.js";
import { sure } from "/page/parts/dialogs/dialog.js";
import { handOff } from "/page/parts/dialogs/handoff.js";
import { menu } from "/page/parts/menu.js";

export function actions(id, current) {
  const path = `/api/threads/${id}`;
  const move = h("button", { class: "plain", type: "button", hidden: true });
  const more = menu(t("actions.more"), () => choices(current()));
  const element = h("div", { class: "thread-actions" }, move, more);

  async function change(what, waits, done) {
    const view = await during(waits, post(`${path}/${what}`));
    if (!view) return;
    if (view.id === id && view.title !== undefined) keep(view);
    say(done);
  }
  const stop = async () => {
    if (current()?.status === "running") await change("stop", t("stop.waits"), t("stop.done"));
  };
  const takeBack = () => change("wheel", t("handoff.back.waits"), t("handoff.back.done"));
  const handoff = () => handOff(current(), takeBack);
  const fork = async (turn) => {
    const view = await during(t("fork.waits"), post(`${path}/fork`, turn ? { turn } : {}));
    if (!view) return;
    keep(view);
    location.hash = `#/threads/${view.id}`;
    say(t(turn ? "fork.done_here" : "fork.done"));
  };
  const cancel = async () => {
    if (await sure(t("cancel.sure"), t("cancel.yes"))) await change("cancel", t("saving"), t("cancel.done"));
  };
  const verify = async () => {
    const answer = await during(t("verify.waits"), post("/api/verify", { thread: id }));
    if (!answer) return;
    const verdict = JSON.parse((await answer.text()).trim().split("\n").pop());
    say(verdict.sound ? t("verify.sound", { n: verdict.nodes }) : t("verify.bad", { reason: verdict.reason ?? "" }));
  };
  const release = async () => {
    const freed = await during(t("release.waits"), post(`${path}/release`));
    if (freed) say(t("release.done", { command: freed.command }));
  };

  function choices(view) {
    const isOver = view.status === "completed" || view.status === "cancelled";
    return [
      [t("fork.do"), () => fork(), "f"],
      !isOver && [t("done.do"), () => change("done", t("saving"), t("done.done"))],
      view.adopted && [t("release.do"), release],
      [t("asked.do"), () => askedBefore(id)],
      [t("details"), () => details(view)],
      [t("verify.do"), verify],
      view.status !== "cancelled" && [t("cancel.do"), cancel],
    ].filter(Boolean);
  }

  const update = (view) => {
    const isAway = (view.bound ?? []).some((each) => each.drives);
    const words = t(isAway ? "handoff.back" : "handoff.do");
    show(move, icon("phone"), h("span", {}, words));
    move.setAttribute("aria-label", words);
    move.hidden = view.status === "cancelled" || view.status === "damaged";
    move.onclick = isAway ? takeBack : handoff;
  };
  return { element, update, stop, handoff, fork };
}
