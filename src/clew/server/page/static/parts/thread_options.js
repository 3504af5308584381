/** What a new thread is begun with: where, by whom, how much it may do, and what few people want to say. */

import { get } from "/page/lib/api.js";
import { h, show } from "/page/lib/dom.js";
import { known, t } from "/page/lib/words.js";

const NOBODY_ANSWERS = {
  runtimes: [],
  policies: ["careful", "trusted", "read-only", "yolo"],
  workspaces: [],
  targets: [],
};

const field = (more = {}) => h("input", { type: "text", spellcheck: "false", autocomplete: "off", ...more });
const option = (value, words, selected = false) => h("option", { value, selected }, words);
const labelled = (name, ...parts) => h("label", {}, h("span", {}, t(`new.by.${name}`)), ...parts);

export class Choices {
  #known = h("datalist", { id: "workspaces" });
  #places = h("datalist", { id: "places" });
  #about = h("p", { class: "note" });
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
    all.policy.addEventListener("change", () => this.#explain());
    const wide = labelled("workspace", all.workspace, this.#known);
    wide.className = "wide";
    this.element = h(
      "div",
      { class: "choices" },
      h(
        "div",
        { class: "start-more" },
        wide,
        ["runtime", "policy", "kind"].map((name) => labelled(name, all[name])),
      ),
      this.#about,
      h(
        "details",
        {},
        h("summary", { class: "note" }, t("new.more")),
        h(
          "div",
          { class: "start-more" },
          ["title", "model", "effort", "notify"].map((name) => labelled(name, all[name])),
          this.#places,
        ),
      ),
    );
    this.#fill();
  }

  get workspace() {
    return this.#fields.workspace.value;
  }

  /** What was chosen; what was left open is the config's. */
  given() {
    const chosen = Object.entries(this.#fields).map(([name, element]) => [name, element.value.trim()]);
    return Object.fromEntries(chosen.filter(([, value]) => value));
  }

  async #fill() {
    const found = await get("/api/choices").catch(() => NOBODY_ANSWERS);
    const { workspace, runtime, policy } = this.#fields;
    const runtimes = found.runtimes.map((each) => option(each.name, named(each), each.name === found.default_runtime));
    if (runtimes.length) show(runtime, runtimes);
    show(
      policy,
      found.policies.map((each) => option(each, known(`policy.${each}`, each), each === found.default_policy)),
    );
    show(
      this.#known,
      found.workspaces.map((each) => option(each)),
    );
    show(
      this.#places,
      found.targets.map((each) => option(each.target, placeName(each))),
      option("local", known("surface.local", "local")),
    );
    workspace.value ||= found.workspaces[0] ?? found.default_workspace ?? "";
    this.#explain();
  }

  #explain() {
    show(this.#about, t(`policy.${this.#fields.policy.value || "careful"}.words`));
  }
}

const named = (each) =>
  each.health === "degraded" ? `${each.name} (${known(`health.${each.health}`, each.health)})` : each.name;

/** `Telegram · home`. */
export const placeName = ({ surface, name }) =>
  [known(`surface.${surface}`, surface), name].filter(Boolean).join(" · ");
