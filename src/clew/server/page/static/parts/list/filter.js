// @ts-check
/** Filters the list of threads by status and workspace. */

import { get } from "/page/lib/api.js";
import { h, setContent } from "/page/lib/dom.js";
import { folderName } from "/page/lib/format.js";
import { t } from "/page/lib/words.js";
import { openIdleDialog } from "/page/parts/dialogs/idle.js";

const ACTIVE = ["running", "idle", "suspended"];
const FINISHED = ["completed", "cancelled"];

const PAGE_SIZE = 100;

/**
 * @param {Record<string, string>} filters
 * @param {string} text
 * @param {string} [before] `next` of the page before
 */
export function threadsPath(filters, text, before) {
  const query = new URLSearchParams({ limit: String(PAGE_SIZE), ...filters });
  if (text) query.set("text", text);
  if (before) query.set("before", before);
  return `/api/threads?${query}`;
}

/** @param {string} name */
const anyOption = (name) => h("option", { value: "" }, t(`filter.${name}`));

export class Filter {
  #status = h("select", { "aria-label": t("filter.status") });
  #workspace = h("select", { "aria-label": t("filter.workspace") }, anyOption("workspace"));
  #markIdle = h("button", { class: "link", type: "button", onclick: openIdleDialog }, t("idle.do"));

  /** @param {() => unknown} onChange */
  constructor(onChange) {
    this.element = h(
      "details",
      { class: "list-filter", onchange: onChange },
      h("summary", { class: "note" }, t("filter")),
      h("div", {}, this.#status, this.#workspace, this.#markIdle),
    );
    this.element.addEventListener("toggle", () => this.element.open && this.#fetchWorkspaces());
    this.setHistory(false);
  }

  /**
   * Offers the statuses of finished threads, or of the others.
   * @param {boolean} isHistory
   */
  setHistory(isHistory) {
    const statuses = isHistory ? FINISHED : ACTIVE;
    const options = statuses.map((name) => h("option", { value: name }, t(`status.${name}`)));
    setContent(this.#status, anyOption("status"), options);
    this.#markIdle.hidden = isHistory;
  }

  /**
   * The parameters for `/api/threads`.
   * @returns {Record<string, string>}
   */
  get query() {
    const chosen = { status: this.#status.value, workspace: this.#workspace.value };
    return Object.fromEntries(Object.entries(chosen).filter(([, value]) => value));
  }

  /** @param {Thread} thread */
  matches({ status, workspace }) {
    const { query } = this;
    return (query.status ?? status) === status && (query.workspace ?? workspace) === workspace;
  }

  async #fetchWorkspaces() {
    /** @type {{ workspaces: string[] }} */
    const { workspaces } = await get("/api/choices").catch(() => ({ workspaces: [] }));
    const { value } = this.#workspace;
    const options = workspaces.map((path) => h("option", { value: path, title: path }, folderName(path)));
    setContent(this.#workspace, anyOption("workspace"), options);
    this.#workspace.value = value;
  }
}
