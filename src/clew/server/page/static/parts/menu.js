/** A button with a few choices below it; arrows walk, Escape closes. */

import { cap, h, icon, show } from "/page/lib/dom.js";

let count = 0;

/** `choices()` gives [words, act, key]. */
export function menu(label, choices) {
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
    show(
      list,
      choices().map(([words, act, key]) =>
        h(
          "button",
          { role: "menuitem", type: "button", "aria-keyshortcuts": key, onclick: () => (list.hidePopover(), act()) },
          words,
          key && cap(key),
        ),
      ),
    );
    const box = button.getBoundingClientRect();
    list.style.top = `${box.bottom + 6}px`;
    list.style.right = `${Math.max(8, innerWidth - box.right)}px`;
  });
  list.addEventListener("toggle", (event) => event.newState === "open" && items()[0]?.focus());
  list.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const all = items();
    all[(all.indexOf(document.activeElement) + by + all.length) % all.length].focus();
  });
  return h("div", { class: "menu-place" }, button, list);
}
