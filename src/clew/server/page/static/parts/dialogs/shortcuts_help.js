/** `?`: what can be pressed here, and the choice not to have single keys at all. */

import { h, icon } from "/page/lib/dom.js";
import { areOn, lentNow, turnOn } from "/page/lib/shortcuts.js";
import { language, t } from "/page/lib/words.js";
import { dialog } from "/page/parts/dialogs/dialog.js";

export function overlay() {
  const groups = lentNow().map(([group, keys]) =>
    h(
      "section",
      {},
      h("h3", {}, group),
      h(
        "dl",
        {},
        keys.map(([key, words]) => h("div", {}, h("dt", {}, caps(key)), h("dd", {}, words))),
      ),
    ),
  );
  const on = h("input", { type: "checkbox", checked: areOn(), onchange: () => turnOn(on.checked) });
  const tongue = h(
    "select",
    { onchange: () => (localStorage.setItem("clew.language", tongue.value), location.reload()) },
    [
      ["en", "English"],
      ["zh", "简体中文"],
    ].map(([value, words]) => h("option", { value, selected: value === language }, words)),
  );
  dialog(
    t("keys"),
    "keys",
    h("div", { class: "key-groups" }, groups),
    h(
      "div",
      { class: "dialog-foot" },
      h("label", { class: "check" }, on, t("keys.on")),
      h("label", {}, h("span", { class: "unseen" }, t("language")), tongue),
    ),
  );
}

const NAMES = { Escape: "Esc" };
const caps = (key) => key.split(" ").map((each) => h("kbd", {}, NAMES[each] ?? each));
