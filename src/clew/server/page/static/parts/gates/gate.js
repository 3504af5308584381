/** `<clew-gate>`: a question that an agent cannot pass without a person. Everything in it can be done by keys. */

import { get, post, remove } from "/page/lib/api.js";
import { cap, h, show } from "/page/lib/dom.js";
import { age } from "/page/lib/format.js";
import { during, say } from "/page/lib/status_line.js";
import { lookForWaiting, threads, waiting } from "/page/lib/state.js";
import { known, t } from "/page/lib/words.js";
import { guard, rests } from "/page/parts/gates/gate_list.js";
import { diff, isDiff } from "/page/parts/thread/diff.js";
import { questions } from "/page/parts/gates/question_form.js";
import { ruleForm } from "/page/parts/rules/rule_form.js";

const MANY = 20; // lines of a command from which on their number is told

class Gate extends HTMLElement {
  #gate;
  #inThread;
  #isBusy = false;
  #isWhole = true;
  #extra = h("div", { class: "gate-extra" });

  /** `inThread`: it stands in its own thread, so that does not have to be named. */
  begin(gate, { inThread = false } = {}) {
    this.#gate = gate;
    this.#inThread = inThread;
    this.className = `gate gate-${gate.kind}`;
    this.setAttribute("role", "group");
    this.setAttribute("tabindex", "-1");
    this.setAttribute("data-gate", gate.id);
    this.setAttribute("aria-label", `${known(`gate.${gate.kind}`, gate.kind)}: ${gate.shown.title}`);
    this.replaceChildren(this.#head(), ...this.#asked(), this.#answers(), this.#extra);
    this.#allowing(!this.#isWhole);
    return this;
  }

  get gate() {
    return this.#gate;
  }

  #head() {
    const { gate } = this;
    const thread = threads.get(gate.thread);
    return h(
      "header",
      {},
      !this.#inThread && h("a", { href: `#/threads/${gate.thread}` }, thread?.title ?? t("gate.thread")),
      h("span", { class: "gate-kind" }, known(`gate.${gate.kind}`, gate.kind)),
      h("span", { class: "gate-code" }, gate.code),
      h("time", { datetime: new Date(gate.asked_at).toISOString() }, age(gate.asked_at)),
    );
  }

  /** Texts of the agent stand here as `shown` has them: nothing in them is invisible or passes for something else. */
  #asked() {
    const { gate } = this;
    const { title, reason, folder } = gate.shown;
    const lines = gate.kind === "command" ? gate.title.replace(/\n+$/, "").split("\n").length : 0;
    return [
      lines > MANY && h("p", { class: "note" }, t("gate.lines", { n: lines })),
      gate.kind === "question" ? null : h("pre", { class: "gate-title", tabindex: "0" }, h("code", {}, title)),
      gate.leaves_sandbox && h("p", { class: "warning" }, t("gate.leaves_sandbox")),
      gate.warning && h("p", { class: "warning" }, gate.warning),
      reason && h("p", { class: "note" }, reason),
      folder && h("p", { class: "note gate-folder" }, t("gate.in", { folder })),
      gate.detail && this.#detail(),
    ].filter(Boolean);
  }

  /** Unfolded and whole: nobody allows what they do not see. A list shortens it, so the rest is fetched first. */
  #detail() {
    const body = h("div", {});
    const fold = h("details", { open: true }, h("summary", {}, t("gate.detail")), body);
    const draw = (text) =>
      show(
        body,
        isDiff(text) ? diff(text, Infinity) : h("pre", { class: "output", tabindex: "0" }, h("code", {}, text)),
      );
    draw(this.#gate.shown.detail);
    this.#isWhole = !/ … [\d,]+ characters left out … /.test(this.#gate.detail);
    if (!this.#isWhole)
      get(`/api/gates/${this.#gate.id}`).then(
        (whole) => {
          draw(whole.shown.detail);
          this.#isWhole = true;
          this.#allowing(false);
        },
        () => {},
      );
    return fold;
  }

  /** Whether all that it asks stands here. */
  get isWhole() {
    return this.#isWhole;
  }

  #allowing(disabled) {
    for (const button of this.querySelectorAll('[data-act="allow"], [data-act="thread"], [data-act="rule"]'))
      button.disabled = disabled;
  }

  #answers() {
    const { gate } = this;
    if (gate.kind === "question")
      return questions(
        gate,
        (replies) => this.#answer({ decision: "reply", replies }, t("gate.answered")),
        () => this.stop(),
      );
    const button = (name, key, act, kind = "plain") =>
      h(
        "button",
        { class: kind, type: "button", "data-act": name, "aria-keyshortcuts": key, onclick: act },
        t(`gate.do.${name}`),
        cap(key),
      );
    return h(
      "div",
      { class: "gate-answers", role: "group", "aria-label": t("gate.answers") },
      button("allow", "a", () => this.allow(), "main"),
      button("thread", "t", () => this.allowInThread()),
      button("rule", "r", () => this.rule()),
      siblings(gate).length > 1 && button("all", "A", () => this.allowAll()),
      button("decline", "d", () => this.decline()),
      button("stop", "x", () => this.stop()),
    );
  }

  allow() {
    if (this.#gate.kind === "question") return this.querySelector("input, textarea")?.focus();
    if (!this.#isWhole) return;
    return this.#answer({ decision: "accept" }, t("gate.allowed", { what: this.#gate.shown.title }));
  }

  allowInThread() {
    if (this.#gate.kind === "question" || !this.#isWhole) return;
    this.#answer({ decision: "accept", extent: "thread" }, t("gate.allowed_thread", { what: this.#gate.shown.title }));
  }

  /** Yes to all of this thread that stands here, and has for a moment. */
  async allowAll() {
    if (this.#isBusy) return;
    this.#isBusy = true;
    const codes = [...this.parentNode.querySelectorAll("clew-gate")]
      .filter((each) => each.gate.thread === this.#gate.thread && each.gate.kind !== "question")
      .filter((each) => each.isWhole && !rests(each))
      .map((each) => each.gate.code);
    const done = await during(t("gate.sending"), post(`/api/threads/${this.#gate.thread}/gates/accept`, { codes }));
    if (done) say(t("gate.allowed_all", { n: done.length }));
    await lookForWaiting().catch(() => {});
    this.#isBusy = false;
  }

  stop() {
    this.#answer({ decision: "cancel" }, t("gate.stopped"));
  }

  /** With a reason, if one likes: it reaches the agent. */
  decline() {
    if (this.#gate.kind === "question") return this.#answer({ decision: "decline" }, t("gate.declined"));
    const field = h("textarea", { rows: "2", placeholder: t("gate.reason.hint"), "aria-label": t("gate.reason") });
    const give = () => this.#answer({ decision: "decline", reason: field.value.trim() }, t("gate.declined"));
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) (event.preventDefault(), give());
      if (event.key === "Escape") this.#fold(event);
    });
    show(
      this.#extra,
      h(
        "div",
        { class: "reason" },
        field,
        h("button", { class: "main", type: "button", onclick: give }, t("gate.do.decline"), cap("↵")),
      ),
    );
    field.focus();
  }

  rule() {
    if (this.#gate.kind === "question" || !this.#isWhole) return;
    const give = async (rule) => {
      const words = t("gate.ruled", { pattern: rule.pattern });
      await this.#answer({ decision: "accept", extent: "rule", ...rule }, words, () => forget(rule.pattern));
    };
    const form = ruleForm(this.#gate, threads.get(this.#gate.thread), give, (event) => this.#fold(event));
    show(this.#extra, form);
    form.querySelector("input").focus();
  }

  #fold(event) {
    event.stopPropagation();
    show(this.#extra);
    this.focus();
  }

  async #answer(body, words, undo) {
    if (this.#isBusy) return;
    this.#isBusy = true;
    const done = await during(t("gate.sending"), post(`/api/gates/${this.#gate.id}/answer`, body));
    if (done) say(words, undo);
    await lookForWaiting().catch(() => {});
    this.#isBusy = false;
  }
}

const siblings = (gate) => waiting.gates.filter((each) => each.thread === gate.thread && each.kind !== "question");

/** The yes stays; the newest rule of this pattern goes. */
async function forget(pattern) {
  const all = await during(t("saving"), get("/api/rules"));
  const rule = all
    ?.filter((each) => each.pattern === pattern)
    .sort((one, other) => other.created_at - one.created_at)[0];
  if (rule && (await during(t("saving"), remove(`/api/rules/${rule.id}`)))) say(t("rules.removed", { pattern }));
}

customElements.define("clew-gate", Gate);

export const gate = (view, options) => guard(document.createElement("clew-gate").begin(view, options));

/** What the keys of a view do at what is asked and has the focus, or at the first. */
export function gateKeys(current) {
  const at = (act) => (event) => {
    const asked = current();
    if (asked && !rests(asked)) act(asked, event);
  };
  return {
    a: ["key.allow", at((asked) => asked.allow())],
    t: ["key.allow_thread", at((asked) => asked.allowInThread?.())],
    A: ["key.allow_all", at((asked) => asked.allowAll?.())],
    r: ["key.rule", at((asked) => asked.rule?.())],
    d: ["key.decline", at((asked) => asked.decline())],
    x: ["key.decline_stop", at((asked) => asked.stop())],
    m: ["key.merge", at((asked) => asked.merge?.())],
    "1-9": ["key.option", at((asked, { key }) => asked.querySelector(`[data-option="${key}"]`)?.click())],
  };
}
