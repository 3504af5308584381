/** Where the person is: away from the desk, what it would show goes to a chat meanwhile. */

import { get, put, remove } from "/page/lib/api.js";
import { h, redraw, worded } from "/page/lib/dom.js";
import { during, say } from "/page/lib/status_line.js";
import { link } from "/page/lib/stream.js";
import { known, t } from "/page/lib/words.js";
import { placeName } from "/page/parts/thread_options.js";

export function away() {
  const content = h("div", {});
  const element = h("section", { class: "card" }, h("h2", {}, t("person")), content);
  const draw = async () => {
    try {
      const [{ conversation }, { targets }] = await Promise.all([get("/api/away"), get("/api/choices")]);
      redraw(content, conversation ? gone(conversation) : here(targets.filter((each) => each.state === "up")));
    } catch {
      redraw(content, h("p", { class: "note" }, t("person.unknown")));
    }
  };
  const gone = (conversation) => [
    h("p", {}, t("person.away", { surface: name(conversation) })),
    h("button", { class: "plain", type: "button", "data-row": "back", onclick: back }, t("person.come_back")),
  ];
  const here = (targets) =>
    targets.length
      ? [
          h("p", {}, t("person.here")),
          h(
            "div",
            { class: "targets" },
            targets.map((each) =>
              h(
                "button",
                { class: "plain", type: "button", "data-row": each.target, onclick: () => leave(each.target) },
                t("person.leave", { surface: placeName(each) }),
              ),
            ),
          ),
        ]
      : h("p", { class: "note" }, worded(t("person.nowhere")));
  const leave = async (target) => {
    if (await during(t("saving"), put("/api/away", { target }))) say(t("person.left", { surface: name(target) }), back);
    draw();
  };
  const back = async () => {
    if (await during(t("saving"), remove("/api/away"))) say(t("person.returned"));
    draw();
  };
  draw();
  const end = link.on("state", (state) => (element.isConnected ? state === "live" && draw() : end()));
  return element;
}

const name = (target) => known(`surface.${target.split(":")[0]}`, target.split(":")[0]);
