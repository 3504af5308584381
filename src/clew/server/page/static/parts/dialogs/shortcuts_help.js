// @ts-check
/** The dialog of `?`: the shortcuts that work now, whether they are on, and the language. */

import { h } from "/page/lib/dom.js";
import { areShortcutsOn, currentShortcuts, setShortcutsOn } from "/page/lib/shortcuts.js";
import { language, t } from "/page/lib/words.js";
import { openDialog } from "/page/parts/dialogs/dialog.js";

const LANGUAGES = { en: "English", zh: "简体中文" };

export function showShortcutsHelp() {
  const groups = currentShortcuts().map(({ group, keys }) =>
    h(
      "section",
      {},
      h("h3", {}, group),
      h(
        "dl",
        {},
        keys.map(({ key, label }) => h("div", {}, h("dt", {}, keyCaps(key)), h("dd", {}, label))),
      ),
    ),
  );
  /** @type {HTMLInputElement} */
  const on = h("input", { type: "checkbox", checked: areShortcutsOn(), onchange: () => setShortcutsOn(on.checked) });
  const options = Object.entries(LANGUAGES).map(([value, name]) =>
    h("option", { value, selected: value === language }, name),
  );
  const onchange = () => (localStorage.setItem("clew.language", languages.value), location.reload());
  /** @type {HTMLSelectElement} */
  const languages = h("select", { onchange }, options);
  openDialog(
    t("shortcuts"),
    "shortcuts",
    h("div", { class: "key-groups" }, groups),
    h(
      "div",
      { class: "dialog-foot" },
      h("label", { class: "check" }, on, t("shortcuts.on")),
      h("label", {}, h("span", { class: "unseen" }, t("language")), languages),
    ),
  );
}

/** @param {string} keys such as "g i" */
const keyCaps = (keys) => keys.split(" ").map((key) => h("kbd", {}, key === "Escape" ? "Esc" : key));
