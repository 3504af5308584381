// @ts-check
/** `<clew-thread-list>`: the threads, by last activity, live, searchable, with a history of finished ones. Only the rows in
 * sight are in the page, so that a thousand scroll as well as ten. */

import { focused, h, icon, isComposing, keyCap, setContent } from "/page/lib/dom.js";
import { changes, fetchThreadPage, threads } from "/page/lib/state.js";
import { coalesce, oncePerFrame } from "/page/lib/timing.js";
import { t } from "/page/lib/words.js";
import { Filter, threadsPath } from "/page/parts/list/filter.js";
import { insertByActivity, isAfter } from "/page/parts/list/order.js";
import { threadRow } from "/page/parts/list/thread_row.js";

const ROW_HEIGHT = 84; // pixels; the same in the style sheet
const SPARE_ROWS = 6; // rows above and below those in sight
const FINISHED = new Set(["completed", "cancelled"]);

class ThreadList extends HTMLElement {
  /** @type {string[]} */
  #ids = [];
  /** @type {string | null} */
  #nextPage = null;
  #isHistory = false;
  #current = "";
  #isLoading = false;
  #requests = 0;
  #shownQuery = "";
  /** @type {Map<string, HTMLElement>} id → row */
  #rows = new Map();
  #searchField = h("input", {
    type: "search",
    placeholder: t("list.search"),
    "aria-label": t("list.search"),
    autocomplete: "off",
    "aria-keyshortcuts": "/",
  });
  #filter = new Filter(() => this.#load());
  #list = h("ul", { class: "rows" });
  #scroll = h("div", { class: "list-scroll" }, this.#list);
  #notice = h("p", { class: "list-notice", role: "status" });
  #scheduleDraw = oncePerFrame(() => this.#draw());
  #scheduleLoad = coalesce(() => this.#load(), 150);

  connectedCallback() {
    const tabs = h(
      "div",
      { class: "tabs", role: "group", "aria-label": t("list.which") },
      this.#tab(false, t("list.active")),
      this.#tab(true, t("list.history")),
    );
    const newLink = h("a", { class: "button plain", href: "#/new" }, icon("plus"), t("list.new"));
    this.replaceChildren(
      h(
        "div",
        { class: "list-head" },
        h("div", { class: "unseen", role: "heading", "aria-level": "2" }, t("nav.threads")),
        h("label", { class: "search" }, icon("search"), this.#searchField, keyCap("/")),
        h("div", { class: "list-row" }, tabs, newLink),
        this.#filter.element,
      ),
      this.#notice,
      this.#scroll,
    );
    this.#searchField.addEventListener("input", this.#scheduleLoad);
    this.#searchField.addEventListener("keydown", (event) => this.#onSearchKey(event));
    this.#scroll.addEventListener("scroll", this.#scheduleDraw, { passive: true });
    new ResizeObserver(this.#scheduleDraw).observe(this.#scroll);
    changes.on("thread", (thread) => this.#updateThread(thread));
    changes.on("resync", () => this.#load());
    changes.on("waiting", () => this.#redrawRowsWithGates());
  }

  /** @param {string} id the thread that is open, or "" */
  setCurrent(id) {
    this.#current = id;
    this.#scheduleDraw();
  }

  focusSearch() {
    this.#searchField.focus();
    this.#searchField.select();
  }

  /**
   * Focuses the next row (`by` is 1) or the previous one (-1), from the row with the focus, else from the open thread.
   * @param {number} by
   */
  focusNeighbour(by) {
    const from = focused()?.closest("[data-thread]")?.dataset.thread ?? this.#current;
    const index = this.#ids.indexOf(from);
    const next = Math.max(0, Math.min(this.#ids.length - 1, index < 0 ? 0 : index + by));
    this.#scrollToRow(next);
    this.#linkAt(next)?.focus({ preventScroll: true });
  }

  /** @param {number} index */
  #linkAt(index) {
    return this.#rows.get(this.#ids[index])?.querySelector("a");
  }

  /** @param {KeyboardEvent} event */
  #onSearchKey(event) {
    if (isComposing(event)) return;
    if (event.key === "ArrowDown" || event.key === "Enter") {
      event.preventDefault();
      this.#linkAt(0)?.focus();
    }
    if (event.key === "Escape" && this.#searchField.value) {
      event.stopPropagation();
      this.#searchField.value = "";
      this.#load();
    }
  }

  /**
   * @param {boolean} isHistory
   * @param {string} label
   */
  #tab(isHistory, label) {
    const choose = () => {
      this.#isHistory = isHistory;
      this.#filter.setHistory(isHistory);
      for (const each of this.querySelectorAll(".tabs button"))
        each.setAttribute("aria-pressed", String(each === button));
      this.#scroll.scrollTop = 0;
      this.#load();
    };
    const isPressed = String(isHistory === this.#isHistory);
    const button = h("button", { type: "button", "aria-pressed": isPressed, onclick: choose }, label);
    return button;
  }

  get #text() {
    return this.#searchField.value.trim();
  }

  /**
   * @param {string} [before] `next` of the page before
   * @returns {string}
   */
  #path(before, isHistory = this.#isHistory) {
    return threadsPath({ history: String(isHistory), ...this.#filter.query }, this.#text, before);
  }

  /** @returns {Promise<void>} */
  async #load() {
    const request = ++this.#requests;
    const slow = setTimeout(() => setContent(this.#notice, t("list.waiting")), 200);
    try {
      const isSearch = Boolean(this.#text) && !this.#filter.query.status;
      const paths = [this.#path(), ...(isSearch ? [this.#path(undefined, !this.#isHistory)] : [])];
      const pages = await Promise.all(paths.map(fetchThreadPage));
      if (request !== this.#requests) return;
      if (isSearch) return this.#showFound(pages);
      const [page] = pages;
      const last = page.threads.at(-1);
      const further = this.#isSameQuery(page) ? this.#ids.filter((id) => last && isAfter(id, last)) : [];
      this.#ids = [...page.threads.map((thread) => thread.id), ...further];
      if (!further.length) this.#nextPage = page.next;
      setContent(this.#notice, this.#ids.length ? null : this.#emptyText());
      page.threads.forEach((thread) => this.#redrawRow(thread));
      this.#scheduleDraw();
    } catch {
      if (request === this.#requests) setContent(this.#notice, this.#ids.length ? null : t("away.connecting"));
    } finally {
      clearTimeout(slow);
    }
  }

  /**
   * A search looks into both tabs, the chosen one first, and says how many it found in each.
   * @param {Api.Page[]} pages
   */
  #showFound(pages) {
    const found = pages.flatMap((page) => page.threads);
    const history = found.filter((thread) => FINISHED.has(thread.status)).length;
    this.#shownQuery = "";
    this.#nextPage = null;
    this.#ids = found.map((thread) => thread.id);
    const active = found.length - history;
    setContent(this.#notice, found.length ? t("list.found", { active, history }) : t("list.none_found"));
    found.forEach((thread) => this.#redrawRow(thread));
    this.#scheduleDraw();
  }

  #emptyText() {
    if (this.#text) return t("list.none_found");
    return t(this.#isHistory ? "list.no_history" : "list.none");
  }

  /**
   * Whether the list was only fetched again: then the rows that were scrolled to stay.
   * @param {Api.Page} page
   */
  #isSameQuery(page) {
    const query = JSON.stringify([this.#isHistory, this.#text, this.#filter.query]);
    const isSame = query === this.#shownQuery && Boolean(page.next);
    this.#shownQuery = query;
    return isSame;
  }

  async #loadMore() {
    if (this.#isLoading || !this.#nextPage) return;
    this.#isLoading = true;
    const request = this.#requests;
    try {
      const page = await fetchThreadPage(this.#path(this.#nextPage));
      if (request !== this.#requests) return;
      this.#ids.push(...page.threads.map((thread) => thread.id));
      this.#nextPage = page.next;
      this.#scheduleDraw();
    } catch {
      // Scrolling on tries again.
    } finally {
      this.#isLoading = false;
    }
  }

  /** @param {Thread} thread */
  #updateThread(thread) {
    const index = this.#ids.indexOf(thread.id);
    const isInTab = FINISHED.has(thread.status) === this.#isHistory || Boolean(this.#text);
    const isListed = isInTab && this.#filter.matches(thread);
    const belongs = isListed && (index >= 0 || !this.#text);
    if (index >= 0 && (!belongs || !this.#text)) this.#ids.splice(index, 1);
    const mayMove = belongs && !(this.#text && index >= 0);
    if (mayMove && insertByActivity(this.#ids, thread, !this.#nextPage)) setContent(this.#notice);
    this.#redrawRow(thread);
    this.#scheduleDraw();
  }

  #redrawRowsWithGates() {
    const shown = this.#ids.flatMap((id) => threads.get(id) ?? []);
    shown.filter((thread) => thread.gates.length).forEach((thread) => this.#redrawRow(thread));
  }

  /**
   * Replaces what is in the row's link, so that the link keeps the focus.
   * @param {Thread} thread
   */
  #redrawRow(thread) {
    const link = this.#rows.get(thread.id)?.querySelector("a");
    link?.replaceChildren(...(threadRow(thread).querySelector("a")?.childNodes ?? []));
  }

  /** @param {number} index */
  #scrollToRow(index) {
    const { scrollTop, clientHeight } = this.#scroll;
    const top = index * ROW_HEIGHT;
    const bottom = top + ROW_HEIGHT;
    if (top < scrollTop) this.#scroll.scrollTop = top;
    if (bottom > scrollTop + clientHeight) this.#scroll.scrollTop = bottom - clientHeight;
    this.#draw();
  }

  #draw() {
    const { scrollTop, clientHeight } = this.#scroll;
    const from = Math.max(0, Math.floor(scrollTop / ROW_HEIGHT) - SPARE_ROWS);
    const to = Math.min(this.#ids.length, Math.ceil((scrollTop + clientHeight) / ROW_HEIGHT) + SPARE_ROWS);
    const inSight = new Map(this.#ids.slice(from, to).map((id, number) => [id, from + number]));
    const focusedRow = this.#list.contains(focused()) ? focused()?.closest("li") : null;
    const focusedIndex = focusedRow ? this.#ids.indexOf(focusedRow.dataset.thread ?? "") : -1;
    if (focusedIndex >= 0) inSight.set(this.#ids[focusedIndex], focusedIndex); // it keeps the focus when scrolled away
    const before = this.#rows;
    this.#rows = new Map([...inSight.keys()].map((id) => [id, before.get(id) ?? this.#newRow(id)]));
    this.#list.style.height = `${this.#ids.length * ROW_HEIGHT}px`;
    this.#rows.forEach((row, id) => this.#placeRow(row, id, inSight.get(id) ?? 0));
    before.forEach((row, id) => this.#rows.has(id) || row.remove());
    this.#rows.forEach((row) => row.isConnected || this.#list.append(row));
    if (focusedRow && focusedIndex < 0) {
      const place = Math.min(Number(focusedRow.getAttribute("aria-posinset")), this.#ids.length) - 1; // it took its place
      (this.#linkAt(place) ?? this.#searchField).focus({ preventScroll: true });
    }
    if (to > this.#ids.length - SPARE_ROWS) this.#loadMore();
  }

  /** @param {string} id */
  #newRow(id) {
    return threadRow(/** @type {Thread} */ (threads.get(id)));
  }

  /**
   * @param {HTMLElement} row
   * @param {string} id
   * @param {number} index
   */
  #placeRow(row, id, index) {
    row.style.transform = `translateY(${index * ROW_HEIGHT}px)`;
    row.setAttribute("aria-setsize", String(this.#nextPage ? -1 : this.#ids.length));
    row.setAttribute("aria-posinset", String(index + 1));
    const link = row.querySelector("a");
    if (id === this.#current) link?.setAttribute("aria-current", "true");
    else link?.removeAttribute("aria-current");
  }
}

customElements.define("clew-thread-list", ThreadList);

export const newThreadList = () => new ThreadList();
