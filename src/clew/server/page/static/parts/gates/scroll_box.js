// @ts-check
/** A box of limited height in which a long request scrolls. Below it stands a note as long as there is more to see: on a
 * phone nothing else would show that the box goes on. */

import { h } from "/page/lib/dom.js";
import { t } from "/page/lib/words.js";

/** @param {HTMLElement} box */
export function scrollBox(box) {
  const note = h("p", { class: "note gate-below", hidden: true }, t("gate.below"));
  const update = () => {
    note.hidden = box.scrollHeight - box.clientHeight - box.scrollTop < 2;
  };
  box.addEventListener("scroll", update, { passive: true });
  new ResizeObserver(update).observe(box);
  return [box, note];
}
