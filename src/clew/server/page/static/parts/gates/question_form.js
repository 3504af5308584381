// @ts-check
/** The form of a gate that asks questions: options to choose from, or a field for text. A secret is neither shown nor
 * stored. */

import { h, keyCap } from "/page/lib/dom.js";
import { said, saidEach, t } from "/page/lib/words.js";

/**
 * @param {Gate} gate
 * @param {(replies: string[][]) => unknown} submit gets the replies to each question, in their order
 * @param {() => unknown} stop
 */
export function questionForm(gate, submit, stop) {
  const parts = gate.questions.map((question, index) => questionPart(gate, question, index));
  const isOneClick = parts.length === 1 && gate.questions[0].options.length > 0 && !gate.questions[0].several;
  const onsubmit = (/** @type {Event} */ event) => (
    event.preventDefault(),
    submit(parts.map((part) => part.replies()))
  );
  const form = h(
    "form",
    { class: "questions", onsubmit },
    parts.map((part) => part.element),
    h(
      "div",
      { class: "gate-answers" },
      h("button", { class: "main", type: "submit" }, t("gate.do.answer"), keyCap("↵")),
      h(
        "button",
        { class: "plain", type: "button", "aria-keyshortcuts": "x", onclick: stop },
        t("gate.do.stop"),
        keyCap("x"),
      ),
    ),
  );
  if (isOneClick)
    for (const button of form.querySelectorAll("[data-option]"))
      button.addEventListener("click", () => form.requestSubmit());
  return form;
}

/**
 * @param {Gate} gate
 * @param {Api.QuestionView} question
 * @param {number} index
 */
function questionPart(gate, question, index) {
  const shown = gate.shown.questions[index];
  const labels = saidEach(shown, "options");
  /** @type {Set<string>} */
  const chosen = new Set();
  const field = question.free || question.options.length === 0 ? textField(question, shown) : null;
  const buttons = question.options.map((option, at) => optionButton(labels[at], at + 1, () => toggle(option)));
  const toggle = (/** @type {string} */ option) => {
    if (!question.several) chosen.clear();
    if (!chosen.delete(option)) chosen.add(option);
    buttons.forEach((button, at) => button.setAttribute("aria-pressed", String(chosen.has(question.options[at]))));
  };
  const replies = () => {
    const typed = field?.value.trim();
    return [...chosen, ...(typed && (question.several || chosen.size === 0) ? [typed] : [])];
  };
  const element = h(
    "fieldset",
    { "data-question": `${gate.id}-${index}` },
    h("legend", {}, said(shown, "text")),
    h("div", { class: "options" }, buttons),
    field,
  );
  return { element, replies };
}

/**
 * @param {string} label
 * @param {number} number
 * @param {() => unknown} onclick
 */
const optionButton = (label, number, onclick) =>
  h(
    "button",
    {
      class: "plain option",
      type: "button",
      "aria-pressed": "false",
      "aria-keyshortcuts": number,
      "data-option": number,
      onclick,
    },
    keyCap(String(number)),
    label,
  );

/**
 * @param {Api.QuestionView} question
 * @param {Api.QuestionShown} shown
 */
const textField = (question, shown) =>
  h("input", {
    type: question.secret ? "password" : "text",
    autocomplete: "off",
    spellcheck: question.secret ? "false" : null,
    "aria-label": said(shown, "text"),
    placeholder: t(question.secret ? "gate.secret" : question.options.length ? "gate.or_words" : "gate.words"),
  });
