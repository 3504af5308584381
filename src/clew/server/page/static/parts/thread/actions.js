// @ts-check
/** What can be done with a thread: stop, switch to another agent, hand off and take back, fork, mark as done, cancel, show details and gates,
 * check its history, release its session. */

import { get, patch, post } from "/page/lib/api.js";
import { h, icon, setContent } from "/page/lib/dom.js";
import { setThread } from "/page/lib/state.js";
import { showStatus, withStatus } from "/page/lib/status_line.js";
import { agentName, said, t } from "/page/lib/words.js";
import { showDetails } from "/page/parts/dialogs/details.js";
import { confirmInDialog } from "/page/parts/dialogs/dialog.js";
import { openHandoffDialog } from "/page/parts/dialogs/handoff.js";
import { showGateHistory } from "/page/parts/gates/gate_history.js";
import { newMenu } from "/page/parts/menu.js";

/**
 * @param {string} id
 * @param {() => Thread | null} current the thread as it was last fetched
 */
export function threadActions(id, current) {
  const path = `/api/threads/${id}`;
  const handoffButton = h("button", { class: "plain", type: "button", hidden: true });
  const menu = newMenu(t("actions.more"), () => choices(current()));
  menu.hidden = true; // it would lack what is not fetched yet
  const element = h("div", { class: "thread-actions" }, handoffButton, menu);

  /** @type {string[] | null} */
  let agents = null;
  const showMenu = () => (menu.hidden = !agents || !current());
  const know = (/** @type {string[]} */ names) => {
    agents = names;
    showMenu();
  };
  get("/api/choices").then(
    (/** @type {Api.ChoicesView} */ found) => know(found.runtimes.filter(({ installed }) => installed).map(({ name }) => name)),
    () => know([]), // then none is offered
  );

  /** @type {(action: string, progress: string, done: string) => Promise<void>} */
  const change = async (action, progress, done) => {
    const thread = await withStatus(progress, post(`${path}/${action}`));
    if (!thread) return;
    if (thread.id === id && thread.title !== undefined) setThread(thread);
    showStatus(done);
  };
  const stop = async () => {
    if (current()?.status === "running") await change("stop", t("stop.waits"), t("stop.done"));
  };
  const takeBack = () => change("wheel", t("handoff.back.waits"), t("handoff.back.done"));
  const handoff = () => {
    const thread = current();
    if (thread) openHandoffDialog(thread, takeBack);
  };
  const fork = async (/** @type {string | undefined} */ turn) => {
    /** @type {Thread | undefined} */
    const thread = await withStatus(t("fork.waits"), post(`${path}/fork`, turn ? { turn } : {}));
    if (!thread) return;
    setThread(thread);
    location.hash = `#/threads/${thread.id}`;
    showStatus(t(turn ? "fork.done_here" : "fork.done"));
  };
  const switchTo = async (/** @type {string} */ runtime) => {
    /** @type {Thread | undefined} */
    const thread = await withStatus(t("saving"), patch(path, { runtime }));
    if (!thread) return;
    setThread(thread);
    showStatus(t("switch.done", { runtime: agentName(runtime) }));
  };
  const markDone = () => change("done", t("saving"), t("done.done"));
  const cancel = async () => {
    const title = said(current() ?? {}, "title") || t("untitled");
    const isSure = await confirmInDialog(t("cancel.sure", { title }), t("cancel.words"), t("cancel.yes"));
    if (isSure) await change("cancel", t("saving"), t("cancel.done"));
  };
  const verify = async () => {
    /** @type {Response | undefined} a line of JSON for each thread */
    const response = await withStatus(t("verify.waits"), post("/api/verify", { thread: id }));
    if (!response) return;
    /** @type {Api.Verdict} */
    const verdict = JSON.parse((await response.text()).trim().split("\n").pop() ?? "");
    showStatus(
      verdict.sound ? t("verify.sound", { n: verdict.nodes }) : t("verify.bad", { reason: said(verdict, "reason") }),
    );
  };
  const release = async () => {
    /** @type {Api.ReleasedView | undefined} */
    const released = await withStatus(t("release.waits"), post(`${path}/release`));
    if (released) showStatus(t("release.done", { command: released.command }));
  };

  const choices = (/** @type {Thread | null} */ thread) => {
    if (!thread) return [];
    const isFinished = thread.status === "completed" || thread.status === "cancelled";
    return [
      { label: t("fork.do"), run: () => fork(undefined), key: "f" },
      ...otherAgents(thread, agents ?? []).map((name) => ({
        label: t("switch.to", { runtime: agentName(name) }),
        run: () => switchTo(name),
      })),
      ...(isFinished ? [] : [{ label: t("done.do"), run: markDone }]),
      ...(thread.adopted ? [{ label: t("release.do"), run: release }] : []),
      { label: t("gate_history.do"), run: () => showGateHistory(id) },
      { label: t("details"), run: () => showDetails(thread) },
      { label: t("verify.do"), run: verify },
      ...(isFinished ? [] : [{ label: t("cancel.do"), run: cancel }]),
    ];
  };

  const update = (/** @type {Thread} */ thread) => {
    const isElsewhere = (thread.bound ?? []).some((each) => each.drives);
    const label = t(isElsewhere ? "handoff.back" : "handoff.do");
    setContent(handoffButton, icon("phone"), h("span", {}, label));
    handoffButton.setAttribute("aria-label", label);
    handoffButton.hidden = thread.status === "cancelled" || thread.status === "damaged";
    handoffButton.onclick = isElsewhere ? takeBack : handoff;
    showMenu();
  };
  return { element, update, stop, handoff, fork };
}

/**
 * The agents that could work on a thread instead. An adopted session is shared with its own program.
 * @param {Thread} thread
 * @param {string[]} agents
 */
function otherAgents(thread, agents) {
  const isFixed = thread.status === "cancelled" || thread.status === "damaged" || thread.adopted;
  return isFixed ? [] : agents.filter((name) => name !== thread.runtime);
}
