// @ts-check
/** The card "You" in Health: a person who is away gets in a chat what the local client would show. */

import { get, put, remove } from "/page/lib/api.js";
import { h, redrawContent, withCode } from "/page/lib/dom.js";
import { showStatus, withStatus } from "/page/lib/status_line.js";
import { link } from "/page/lib/stream.js";
import { t, tOr } from "/page/lib/words.js";
import { targetName } from "/page/parts/thread_options.js";

export function awayCard() {
  const content = h("div", {});
  const element = h("section", { class: "card" }, h("h2", {}, t("person")), content);
  const draw = async () => {
    try {
      /** @type {[Api.AwayView, Api.ChoicesView]} */
      const [{ conversation }, { targets }] = await Promise.all([get("/api/away"), get("/api/choices")]);
      const reachable = targets.filter((target) => target.state === "up");
      redrawContent(content, conversation ? whenAway(conversation) : whenHere(reachable));
    } catch {
      redrawContent(content, h("p", { class: "note" }, t("person.unknown")));
    }
  };
  const whenAway = (/** @type {string} */ conversation) => [
    h("p", {}, t("person.away", { surface: surfaceName(conversation) })),
    h("button", { class: "plain", type: "button", "data-row": "back", onclick: comeBack }, t("person.come_back")),
  ];
  const whenHere = (/** @type {Api.TargetView[]} */ targets) =>
    targets.length
      ? [h("p", {}, t("person.here")), h("div", { class: "targets" }, targets.map(leaveButton))]
      : h("p", { class: "note" }, withCode(t("person.nowhere")));
  const leaveButton = (/** @type {Api.TargetView} */ target) =>
    h(
      "button",
      { class: "plain", type: "button", "data-row": target.target, onclick: () => leave(target.target) },
      t("person.leave", { surface: targetName(target) }),
    );
  const leave = async (/** @type {string} */ target) => {
    if (await withStatus(t("saving"), put("/api/away", { target })))
      showStatus(t("person.left", { surface: surfaceName(target) }), comeBack);
    draw();
  };
  const comeBack = async () => {
    if (await withStatus(t("saving"), remove("/api/away"))) showStatus(t("person.returned"));
    draw();
  };
  draw();
  const stopListening = link.on("state", (state) =>
    element.isConnected ? state === "live" && draw() : stopListening(),
  );
  return element;
}

/** @param {string} target */
function surfaceName(target) {
  const [surface] = target.split(":");
  return tOr(`surface.${surface}`, surface);
}
