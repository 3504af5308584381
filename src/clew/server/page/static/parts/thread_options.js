// @ts-check
/** The options of a new thread: workspace, runtime, policy, kind; and title, model, effort and whom to notify. */

import { get } from "/page/lib/api.js";
import { h, setContent, withCode } from "/page/lib/dom.js";
import { agentName, t, tOr } from "/page/lib/words.js";

/** @type {Partial<Api.ChoicesView>} used if the daemon does not answer */
const DEFAULTS = {
  policies: ["careful", "sandbox", "trusted", "read-only", "yolo"],
};

const field = (/** @type {Props} */ more = {}) =>
  h("input", { type: "text", spellcheck: "false", autocomplete: "off", ...more });
/** @type {(value: string, label?: string, selected?: boolean) => HTMLOptionElement} */
const option = (value, label, selected = false) => h("option", { value, selected }, label);
/** @type {(name: string, ...content: Child[]) => HTMLLabelElement} */
const labelled = (name, ...content) => h("label", {}, h("span", {}, t(`new.by.${name}`)), ...content);

export class ThreadOptions {
  #workspaces = h("datalist", { id: "workspaces" });
  #targets = h("datalist", { id: "places" });
  #policyNote = h("p", { class: "note" });
  /** @type {Set<string>} */
  #missing = new Set(); // agents that are not installed
  #missingNote = h("p", { class: "warning", role: "status" });
  #fields = {
    workspace: field({ list: "workspaces", placeholder: t("new.workspace.hint") }),
    runtime: h("select", {}, option("", t("new.default"))),
    policy: h("select", {}),
    kind: h("select", {}, option("chat", t("kind.chat")), option("task", t("kind.task"))),
    title: field({ maxlength: "200", spellcheck: "true" }),
    model: field({ placeholder: t("new.default") }),
    effort: field({ placeholder: t("new.default") }),
    notify: field({ list: "places", placeholder: t("new.notify.nobody") }),
  };

  constructor(workspace = "") {
    const all = this.#fields;
    all.workspace.value = workspace;
    all.policy.addEventListener("change", () => this.#describePolicy());
    all.runtime.addEventListener("change", () => this.#describeAgent());
    const wide = labelled("workspace", all.workspace, this.#workspaces);
    wide.className = "wide";
    this.element = h(
      "div",
      { class: "choices" },
      h(
        "div",
        { class: "start-more" },
        wide,
        labelled("runtime", all.runtime),
        labelled("policy", all.policy),
        labelled("kind", all.kind),
      ),
      this.#missingNote,
      this.#policyNote,
      h(
        "details",
        {},
        h("summary", { class: "note" }, t("new.more")),
        h(
          "div",
          { class: "start-more" },
          labelled("title", all.title),
          labelled("model", all.model),
          labelled("effort", all.effort),
          labelled("notify", all.notify),
          this.#targets,
        ),
      ),
    );
    this.#fetchOptions();
  }

  get workspace() {
    return this.#fields.workspace.value;
  }

  /**
   * The options that were chosen. The daemon takes the others from its config.
   * @returns {Record<string, string>}
   */
  values() {
    const chosen = Object.entries(this.#fields).map(([name, element]) => [name, element.value.trim()]);
    return Object.fromEntries(chosen.filter(([, value]) => value));
  }

  async #fetchOptions() {
    /** @type {Partial<Api.ChoicesView>} */
    const found = await get("/api/choices").catch(() => DEFAULTS);
    const { runtimes = [], policies = [], workspaces = [], targets = [] } = found;
    const { workspace, runtime, policy } = this.#fields;
    const runtimeOption = (/** @type {Api.RuntimeView} */ each) =>
      option(each.name, runtimeLabel(each), each.name === found.default_runtime);
    const policyOption = (/** @type {string} */ name) =>
      option(name, tOr(`policy.${name}`, name), name === found.default_policy);
    const targetOption = (/** @type {Api.TargetView} */ each) => option(each.target, targetName(each));
    if (runtimes.length) setContent(runtime, runtimes.map(runtimeOption));
    this.#missing = new Set(runtimes.filter(({ installed }) => !installed).map(({ name }) => name));
    this.#describeAgent();
    setContent(policy, policies.map(policyOption));
    const workspaceOptions = workspaces.map((path) => option(path));
    setContent(this.#workspaces, workspaceOptions);
    setContent(this.#targets, targets.map(targetOption), option("local", tOr("surface.local", "local")));
    workspace.value ||= workspaces[0] ?? found.default_workspace ?? "";
    this.#describePolicy();
  }

  #describeAgent() {
    const { value } = this.#fields.runtime;
    setContent(this.#missingNote, this.#missing.has(value) && withCode(t("new.missing", { agent: agentName(value) })));
  }

  #describePolicy() {
    setContent(this.#policyNote, t(`policy.${this.#fields.policy.value || "careful"}.words`));
  }
}

/** @param {Api.RuntimeView} runtime */
function runtimeLabel({ name, health, installed }) {
  if (!installed) return `${name} (${t("new.not_installed")})`;
  return health === "degraded" ? `${name} (${tOr(`health.${health}`, health)})` : name;
}

/**
 * `Telegram · home`.
 * @param {Api.TargetView} target
 */
export const targetName = ({ surface, name }) => [tOr(`surface.${surface}`, surface), name].filter(Boolean).join(" · ");
