// @ts-check
/** The buttons that answer an approval. Yes and no are always first; few are shown at first sight. */

import { h, keyCap } from "/page/lib/dom.js";
import { t } from "/page/lib/words.js";

const MOST_ANSWERS = 4; // at first sight

/** @typedef {"allow" | "decline" | "thread" | "rule" | "all" | "stop"} Act */

/** @type {Record<Act, string>} the letter of each answer */
const KEYS = { allow: "a", decline: "d", thread: "t", rule: "r", all: "A", stop: "x" };

/**
 * @param {Gate} gate
 * @param {object} options
 * @param {boolean} options.isOneOfSeveral whether its thread has more open approvals
 * @param {(act: Act) => unknown} options.onChosen
 */
export function answerButtons(gate, { isOneOfSeveral, onChosen }) {
  const button = (/** @type {Act} */ act, /** @type {number | null} */ number) =>
    answerButton(act, number, () => onChosen(act));
  const { numbers } = gate;
  const numbered = numberedAnswers(gate).map((act, index) => button(act, numbers?.[index] ?? index + 1));
  const others = [
    ...(gate.rule || gate.agents.length ? [] : [button("rule", null)]),
    ...(isOneOfSeveral ? [button("all", null)] : []),
  ];
  const hidden = [...numbered.splice(MOST_ANSWERS), ...others];
  return h(
    "div",
    { class: "gate-answers", role: "group", "aria-label": t("gate.answers") },
    numbered,
    hidden.length > 0 && moreAnswers(hidden),
  );
}

/**
 * In the order of the gate's options and of their numbers, which are the same in the terminal and in chats: yes is 1
 * and no is 2.
 * @param {Gate} gate
 * @returns {Act[]}
 */
function numberedAnswers({ rule, only_once: isOnlyOnce }) {
  /** @type {(Act | false | null)[]} */
  const acts = ["allow", "decline", !isOnlyOnce && "thread", rule ? "rule" : null, "stop"];
  return acts.flatMap((act) => act || []);
}

/**
 * @param {Act} act
 * @param {number | null} number
 * @param {() => unknown} onclick
 */
const answerButton = (act, number, onclick) =>
  h(
    "button",
    {
      class: act === "allow" ? "main" : "plain",
      type: "button",
      "data-act": act,
      "data-number": number,
      "aria-keyshortcuts": number ? `${number} ${KEYS[act]}` : KEYS[act],
      onclick,
    },
    keyCap(String(number ?? KEYS[act])),
    t(`gate.do.${act}`),
  );

/**
 * The answers that are not shown at first sight, and the button that shows them.
 * @param {HTMLElement[]} answers
 */
function moreAnswers(answers) {
  const rest = h("span", { class: "gate-rest", hidden: true }, answers);
  const toggle = () => {
    rest.hidden = !rest.hidden;
    button.setAttribute("aria-expanded", String(!rest.hidden));
  };
  const button = h("button", { class: "link", type: "button", "aria-expanded": "false", onclick: toggle }, t("gate.more"));
  return [button, rest];
}
