// @ts-check
/** `<clew-gate>`: a gate with its answers. All of them have shortcuts. */

import { get, post, remove } from "/page/lib/api.js";
import { h, isComposing, keyCap, setContent } from "/page/lib/dom.js";
import { formatAge } from "/page/lib/format.js";
import { fetchWaiting, threads, waiting } from "/page/lib/state.js";
import { showStatus, withStatus } from "/page/lib/status_line.js";
import { said, t, tOr } from "/page/lib/words.js";
import { answerButtons } from "/page/parts/gates/answer_buttons.js";
import { guardClicks, isBrieflyDisabled } from "/page/parts/gates/gate_list.js";
import { questionForm } from "/page/parts/gates/question_form.js";
import { scrollBox } from "/page/parts/gates/scroll_box.js";
import { ruleForm } from "/page/parts/rules/rule_form.js";
import { isDiff, newDiff } from "/page/parts/thread/diff.js";

const MANY_LINES = 20; // a command with more lines gets their number as a note
const LONG_LINE = 1_000; // characters; a command with a longer line gets their number as a note

export class GateElement extends HTMLElement {
  #gate;
  #isBusy = false;
  #isComplete = true;
  #extra = h("div", { class: "gate-extra" });

  /**
   * @param {Gate} gate
   * @param {{ inThread?: boolean }} [options] `inThread`: it is shown in its thread, so the thread need not be named
   */
  constructor(gate, { inThread = false } = {}) {
    super();
    this.#gate = gate;
    this.className = `gate gate-${gate.about ?? gate.kind}`;
    this.setAttribute("role", "group");
    this.setAttribute("tabindex", "-1");
    this.setAttribute("data-gate", gate.id);
    this.setAttribute("aria-label", `${this.#kindName()}: ${said(gate.shown, "title")}`);
    setContent(this, this.#header(inThread), this.#request(), this.#answers(), this.#explanation(), this.#extra);
    this.#setAllowDisabled(!this.#isComplete);
  }

  get gate() {
    return this.#gate;
  }

  /** A question whose options allow a command or a change is shown as such. */
  #kindName() {
    const kind = this.#gate.about ?? this.#gate.kind;
    return tOr(`gate.${kind}`, kind);
  }

  /** @param {boolean} inThread */
  #header(inThread) {
    const { gate } = this;
    const thread = threads.get(gate.thread);
    return h(
      "header",
      {},
      !inThread && h("a", { href: `#/threads/${gate.thread}` }, thread?.title ?? t("gate.thread")),
      h("span", { class: "gate-kind" }, this.#kindName()),
      h("span", { class: "gate-code" }, gate.code),
      h("time", { datetime: new Date(gate.asked_at).toISOString() }, formatAge(gate.asked_at)),
    );
  }

  /** Shows the agent's texts as `shown` has them: without invisible characters, and none that look like another. */
  #request() {
    const { gate } = this;
    const { folder, agents } = gate.shown;
    const [title, reason, asker] = [said(gate.shown, "title"), said(gate.shown, "reason"), said(gate.shown, "asker")];
    const kind = gate.about ?? gate.kind;
    const lines = kind === "command" ? gate.title.replace(/\n+$/, "").split("\n") : [];
    const shown = kind === "command" ? title.split("\n") : [];
    const longest = shown.reduce((most, line) => Math.max(most, [...line].length), 0);
    return [
      agents.length > 0 && h("p", { class: "note gate-agents" }, t("gate.asked_by", { agents: agents.join(" › ") })),
      lines.length > MANY_LINES && h("p", { class: "note" }, t("gate.lines", { n: lines.length })),
      longest > LONG_LINE && h("p", { class: "note" }, t("gate.long_line", { n: longest })),
      ...(kind !== "question" ? scrollBox(h("pre", { class: "gate-title", tabindex: "0" }, h("code", {}, title))) : []),
      gate.leaves_sandbox && h("p", { class: "warning" }, t("gate.leaves_sandbox")),
      gate.warning && h("p", { class: "warning" }, said(gate, "warning")),
      asker && h("p", { class: "note" }, asker),
      reason && h("p", { class: "note" }, t(asker ? "gate.it_says" : "gate.agent_says", { reason })),
      folder && h("p", { class: "note gate-folder" }, t("gate.in", { folder })),
      kind !== "question" && gate.detail && this.#detail(),
    ].filter(Boolean);
  }

  /** What explains the options of a question, below the question. */
  #explanation() {
    const { gate } = this;
    return (gate.about ?? gate.kind) === "question" && gate.detail && this.#detail();
  }

  /** Open and complete: nobody allows what they do not see. Lists of gates shorten it; then the rest is fetched, and
   * nothing can be allowed before. */
  #detail() {
    const body = h("div", {});
    const details = h("details", { open: true }, h("summary", {}, t("gate.detail")), body);
    const draw = (/** @type {string} */ text) =>
      setContent(
        body,
        scrollBox(
          isDiff(text) ? newDiff(text, Infinity) : h("pre", { class: "output", tabindex: "0" }, h("code", {}, text)),
        ),
      );
    draw(said(this.#gate.shown, "detail"));
    this.#isComplete = !this.#gate.cut;
    if (!this.#isComplete)
      get(`/api/gates/${this.#gate.id}`).then(
        (gate) => {
          draw(said(gate.shown, "detail"));
          this.#isComplete = true;
          this.#setAllowDisabled(false);
        },
        () => {},
      );
    return details;
  }

  /** Whether everything that it asks is shown. */
  get isComplete() {
    return this.#isComplete;
  }

  /** @param {boolean} disabled */
  #setAllowDisabled(disabled) {
    const selector = '[data-act="allow"], [data-act="thread"], [data-act="rule"], [data-option], .questions .main';
    const buttons = /** @type {NodeListOf<HTMLButtonElement>} */ (this.querySelectorAll(selector));
    for (const button of buttons) button.disabled = disabled;
  }

  #answers() {
    const { gate } = this;
    if (gate.kind === "question")
      return questionForm(
        gate,
        (replies) => this.#answer({ decision: "reply", replies }, t("gate.answered")),
        () => this.stop(),
      );
    return answerButtons(gate, { isOneOfSeveral: approvalsOf(gate.thread).length > 1, onChosen: (act) => this.#do(act) });
  }

  /** @param {import("/page/parts/gates/answer_buttons.js").Act} name */
  #do(name) {
    const acts = {
      allow: () => this.allow(),
      decline: () => this.decline(),
      thread: () => this.allowInThread(),
      rule: () => this.showRuleForm(),
      all: () => this.allowAll(),
      stop: () => this.stop(),
    };
    acts[name]();
  }

  allow() {
    if (this.#gate.kind === "question") return this.querySelector("input, textarea")?.focus();
    if (!this.#isComplete) return;
    this.#answer({ decision: "accept" }, t("gate.allowed", { what: said(this.#gate.shown, "title") }));
  }

  allowInThread() {
    if (this.#gate.kind === "question" || this.#gate.only_once || !this.#isComplete) return;
    const what = said(this.#gate.shown, "title");
    this.#answer({ decision: "accept", extent: "thread" }, t("gate.allowed_thread", { what }));
  }

  /** Allows all gates of this thread that are shown here, completely, and have been for a moment. */
  async allowAll() {
    if (this.#isBusy) return;
    this.#isBusy = true;
    const { thread } = this.#gate;
    const codes = [...(this.parentElement?.querySelectorAll("clew-gate") ?? [])]
      .filter((each) => each.gate.thread === thread && each.gate.kind !== "question")
      .filter((each) => each.isComplete && !isBrieflyDisabled(each))
      .map((each) => each.gate.code);
    const allowed = await withStatus(t("gate.sending"), post(`/api/threads/${thread}/gates/accept`, { codes }));
    if (allowed) showStatus(t("gate.allowed_all", { n: allowed.length }));
    await fetchWaiting().catch(() => {});
    this.#isBusy = false;
  }

  stop() {
    this.#answer({ decision: "cancel" }, t("gate.stopped"));
  }

  /** Asks for a reason, which may stay empty; the agent gets it. */
  decline() {
    if (this.#gate.kind === "question") return void this.#answer({ decision: "decline" }, t("gate.declined"));
    const field = h("textarea", { rows: "2", placeholder: t("gate.reason.hint"), "aria-label": t("gate.reason") });
    const submit = () => this.declineBecause(field.value.trim());
    field.addEventListener("keydown", (event) => {
      if (isComposing(event)) return;
      if (event.key === "Enter" && !event.shiftKey) (event.preventDefault(), submit());
      if (event.key === "Escape") this.#closeExtra(event);
    });
    setContent(
      this.#extra,
      h(
        "div",
        { class: "reason" },
        field,
        h("button", { class: "main", type: "button", onclick: submit }, t("gate.do.decline"), keyCap("↵")),
      ),
    );
    field.focus();
  }

  /** @param {string} reason */
  declineBecause(reason) {
    return this.#answer({ decision: "decline", reason }, t("gate.declined"));
  }

  showRuleForm() {
    if (this.#gate.agents.length) return;
    if (this.#gate.kind === "question" || !this.#isComplete) return;
    const submit = (/** @type {import("/page/parts/rules/rule_form.js").RuleOfAnswer} */ rule) => {
      const text = t("gate.ruled", { pattern: rule.pattern });
      this.#answer({ decision: "accept", extent: "rule", ...rule }, text, () => removeRule(rule.pattern));
    };
    const form = ruleForm(this.#gate, threads.get(this.#gate.thread), submit, (event) => this.#closeExtra(event));
    setContent(this.#extra, form);
    form.querySelector("input")?.focus();
  }

  /** @param {Event} event */
  #closeExtra(event) {
    event.stopPropagation();
    setContent(this.#extra);
    this.focus();
  }

  /**
   * @param {Partial<Api.Answer>} body
   * @param {string} text what the status line says then
   * @param {() => unknown} [undo]
   * @returns {Promise<boolean>} whether it was taken
   */
  async #answer(body, text, undo) {
    if (this.#isBusy) return false;
    this.#isBusy = true;
    const done = await withStatus(t("gate.sending"), post(`/api/gates/${this.#gate.id}/answer`, body));
    if (done) showStatus(text, undo);
    await fetchWaiting().catch(() => {});
    this.#isBusy = false;
    return Boolean(done);
  }
}

/**
 * The open gates of a thread that are not questions.
 * @param {string} thread
 */
const approvalsOf = (thread) => waiting.gates.filter((gate) => gate.thread === thread && gate.kind !== "question");

/**
 * Removes the newest rule with this pattern. The answer that made it stays.
 * @param {string} pattern
 */
async function removeRule(pattern) {
  /** @type {Api.RuleView[] | undefined} */
  const rules = await withStatus(t("saving"), get("/api/rules"));
  const [newest] = (rules ?? [])
    .filter((rule) => rule.pattern === pattern)
    .sort((one, other) => other.created_at - one.created_at);
  if (newest && (await withStatus(t("saving"), remove(`/api/rules/${newest.id}`))))
    showStatus(t("rules.removed", { pattern }));
}

customElements.define("clew-gate", GateElement);

/**
 * The element of a gate, unless the gate was asked again since it was drawn: then it has a warning, which must be seen.
 * @param {HTMLElement | undefined} element
 * @param {Gate} gate
 * @returns {HTMLElement | undefined}
 */
export const drawnGate = (element, gate) =>
  element instanceof GateElement && element.gate.asked_at === gate.asked_at ? element : undefined;

/** @param {ConstructorParameters<typeof GateElement>} args */
export const newGate = (...args) => guardClicks(new GateElement(...args));
