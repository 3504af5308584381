/** The form of a gate that wants words: options to choose from, or a line to write; a secret is never shown or kept. */

import { cap, h } from "/page/lib/dom.js";
import { t } from "/page/lib/words.js";

/** `give` gets the replies, for each question in their order. */
export function questions(gate, give, stop) {
  const parts = gate.questions.map((question, number) => part(gate, question, number));
  const isQuick = parts.length === 1 && gate.questions[0].options.length > 0 && !gate.questions[0].several;
  const form = h(
    "form",
    { class: "questions", onsubmit: (event) => (event.preventDefault(), give(parts.map((each) => each.replies()))) },
    parts.map((each) => each.element),
    h(
      "div",
      { class: "gate-answers" },
      h("button", { class: "main", type: "submit" }, t("gate.do.answer"), cap("↵")),
      h(
        "button",
        { class: "plain", type: "button", "aria-keyshortcuts": "x", onclick: stop },
        t("gate.do.stop"),
        cap("x"),
      ),
    ),
  );
  if (isQuick)
    form
      .querySelectorAll("[data-option]")
      .forEach((button) => button.addEventListener("click", () => form.requestSubmit()));
  return form;
}

function part(gate, question, number) {
  const name = `${gate.id}-${number}`;
  const shown = gate.shown.questions[number];
  const chosen = new Set();
  const free = question.free || question.options.length === 0 ? line(question, shown) : null;
  const buttons = question.options.map((option, at) => choice(shown.options[at], at, () => toggle(option)));
  const toggle = (option) => {
    if (!question.several) chosen.clear();
    if (!chosen.delete(option)) chosen.add(option);
    buttons.forEach((button, at) => button.setAttribute("aria-pressed", String(chosen.has(question.options[at]))));
  };
  const replies = () => {
    const typed = free?.value.trim();
    return [...chosen, ...(typed && (question.several || chosen.size === 0) ? [typed] : [])];
  };
  const element = h(
    "fieldset",
    { "data-question": name },
    h("legend", {}, shown.text),
    h("div", { class: "options" }, buttons),
    free,
  );
  return { element, replies };
}

const choice = (option, at, onclick) =>
  h(
    "button",
    {
      class: "plain option",
      type: "button",
      "aria-pressed": "false",
      "aria-keyshortcuts": at + 1,
      "data-option": at + 1,
      onclick,
    },
    cap(String(at + 1)),
    option,
  );

const line = (question, shown) =>
  h("input", {
    type: question.secret ? "password" : "text",
    autocomplete: "off",
    spellcheck: question.secret ? "false" : null,
    "aria-label": shown.text,
    placeholder: t(question.secret ? "gate.secret" : question.options.length ? "gate.or_words" : "gate.words"),
  });
