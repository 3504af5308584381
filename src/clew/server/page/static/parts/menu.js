// @ts-check
/** A button with a menu below it; the arrow keys move in it, Escape closes it. */

import { focused, h, icon, keyCap, setContent } from "/page/lib/dom.js";

let count = 0;

/**
 * @param {string} label
 * @param {() => { label: string, run: () => unknown, key?: string }[]} choices called each time it opens
 */
export function newMenu(label, choices) {
  const name = `menu-${++count}`;
  const list = h("div", { class: "menu", id: name, popover: "auto", role: "menu", "aria-label": label });
  const button = h(
    "button",
    { class: "quiet", type: "button", "aria-label": label, title: label, "aria-haspopup": "menu", popovertarget: name },
    icon("more"),
  );
  const items = () => [...list.querySelectorAll("[role=menuitem]")];
  list.addEventListener("beforetoggle", (event) => {
    if (event.newState !== "open") return;
    setContent(
      list,
      choices().map(({ label, run, key }) =>
        h(
          "button",
          { role: "menuitem", type: "button", "aria-keyshortcuts": key, onclick: () => (list.hidePopover(), run()) },
          label,
          key && keyCap(key),
        ),
      ),
    );
    const box = button.getBoundingClientRect();
    list.style.top = `${box.bottom + 6}px`;
    list.style.right = `${Math.max(8, innerWidth - box.right)}px`;
  });
  list.addEventListener("toggle", (event) => event.newState === "open" && items()[0]?.focus());
  list.addEventListener("keydown", (event) => {
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (!by) return;
    event.preventDefault();
    const all = items();
    const index = all.findIndex((item) => item === focused());
    all[(index + by + all.length) % all.length].focus();
  });
  return h("div", { class: "menu-place" }, button, list);
}
