// @ts-check
/** A no with its reason that is typed into the message field, such as `n not on a Friday`, while one request is open. The
 * field is for messages, so nothing is sent before the person has chosen what is meant. */

import { h, keyCap } from "/page/lib/dom.js";
import { t } from "/page/lib/words.js";

const NO = /^\s*(?:(?:n|no|deny|decline)[\s:：,，.]+|(?:拒绝|不同意)[\s:：,，.。]*)(\S.*)$/isu;

/**
 * The reason of a no; empty if it is none.
 * @param {string} text
 */
export const reasonOfNo = (text) => NO.exec(text)?.[1].trim() ?? "";

/**
 * Asks whether it is a no to the request, or a message.
 * @param {string} request what is asked, in one line
 * @param {{ decline: () => unknown, send: () => unknown }} choices
 */
export const whichIsMeant = (request, { decline, send }) =>
  h(
    "div",
    { class: "which", role: "group", "aria-label": t("composer.which") },
    h("p", { role: "status" }, t("composer.which.words", { request })),
    h("button", { class: "plain", type: "button", onclick: decline }, t("composer.which.decline")),
    h("button", { class: "plain", type: "button", onclick: send }, t("composer.which.send"), keyCap("↵")),
  );
