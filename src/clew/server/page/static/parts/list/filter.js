/** What of the list of threads is shown: those of one status, or of one folder. */

import { get } from "/page/lib/api.js";
import { h, show } from "/page/lib/dom.js";
import { folder } from "/page/lib/format.js";
import { t } from "/page/lib/words.js";

const STATUSES = { false: ["running", "idle", "suspended"], true: ["completed", "cancelled"] };

const any = (name) => h("option", { value: "" }, t(`filter.${name}`));

export class Filter {
  #status = h("select", { "aria-label": t("filter.status") });
  #workspace = h("select", { "aria-label": t("filter.workspace") }, any("workspace"));

  /** `changed` hears of every choice. */
  constructor(changed) {
    this.element = h(
      "details",
      { class: "list-filter", onchange: changed },
      h("summary", { class: "note" }, t("filter")),
      h("div", {}, this.#status, this.#workspace),
    );
    this.element.addEventListener("toggle", () => this.element.open && this.#fill());
    this.turn(false);
  }

  /** To those that are finished, or to those that are not. */
  turn(isHistory) {
    const statuses = STATUSES[isHistory].map((each) => h("option", { value: each }, t(`status.${each}`)));
    show(this.#status, any("status"), statuses);
  }

  /** What is asked of the daemon. */
  get wanted() {
    const chosen = { status: this.#status.value, workspace: this.#workspace.value };
    return Object.fromEntries(Object.entries(chosen).filter(([, value]) => value));
  }

  fits(view) {
    return Object.entries(this.wanted).every(([name, value]) => view[name] === value);
  }

  async #fill() {
    const { workspaces } = await get("/api/choices").catch(() => ({ workspaces: [] }));
    const { value } = this.#workspace;
    const options = workspaces.map((each) => h("option", { value: each, title: each }, folder(each)));
    show(this.#workspace, any("workspace"), options);
    this.#workspace.value = value;
  }
}
