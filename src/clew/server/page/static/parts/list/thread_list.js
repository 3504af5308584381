/** `<clew-thread-list>`: the threads, newest first, live, searchable, and their history. Only the rows that can be seen
 * are in the page, so that a thousand scroll as well as ten. */

import { cap, h, icon, show } from "/page/lib/dom.js";
import { nextFrame, soon } from "/page/lib/emitter.js";
import { lookThrough, threads, things } from "/page/lib/state.js";
import { t } from "/page/lib/words.js";
import { Filter } from "/page/parts/list/filter.js";
import { threadRow } from "/page/parts/list/thread_row.js";

const PAGE = 100;
const ROW = 84; // pixels; the same in the style
const SPARE = 6; // rows above and below those that are seen
const OVER = new Set(["completed", "cancelled"]);

class ThreadList extends HTMLElement {
  #ids = [];
  #next = null;
  #isHistory = false;
  #current = null;
  #isLoading = false;
  #asked = 0;
  #rows = new Map(); // id → element
  #field = h("input", {
    type: "search",
    placeholder: t("list.search"),
    "aria-label": t("list.search"),
    autocomplete: "off",
    "aria-keyshortcuts": "/",
  });
  #filter = new Filter(() => this.#load());
  #space = h("ul", { class: "rows" });
  #scroll = h("div", { class: "list-scroll" }, this.#space);
  #word = h("p", { class: "list-word", role: "status" });
  #paint = nextFrame(() => this.#draw());
  #search = soon(() => this.#load(), 150);

  connectedCallback() {
    const tabs = h(
      "div",
      { class: "tabs", role: "group", "aria-label": t("list.which") },
      this.#tab(false, t("list.active")),
      this.#tab(true, t("list.history")),
    );
    const start = h("a", { class: "button plain", href: "#/new" }, icon("plus"), t("list.new"));
    this.replaceChildren(
      h(
        "div",
        { class: "list-head" },
        h("div", { class: "unseen", role: "heading", "aria-level": "2" }, t("nav.threads")),
        h("label", { class: "search" }, icon("search"), this.#field, cap("/")),
        h("div", { class: "list-row" }, tabs, start),
        this.#filter.element,
      ),
      this.#word,
      this.#scroll,
    );
    this.#field.addEventListener("input", this.#search);
    this.#field.addEventListener("keydown", (event) => this.#press(event));
    this.#scroll.addEventListener("scroll", this.#paint, { passive: true });
    new ResizeObserver(this.#paint).observe(this.#scroll);
    things.on("thread", (view) => this.#heard(view));
    things.on("fresh", () => this.#load());
    things.on("waiting", () =>
      this.#ids.forEach((id) => threads.get(id)?.gates.length && this.#redraw(threads.get(id))),
    );
  }

  mark(id) {
    this.#current = id;
    this.#paint();
  }

  search() {
    this.#field.focus();
    this.#field.select();
  }

  /** The next or the one before, from the one that has the focus, else from the one that is open. */
  step(by) {
    const focused = document.activeElement?.closest?.("[data-thread]")?.dataset.thread;
    const at = this.#ids.indexOf(focused ?? this.#current ?? "");
    const next = Math.max(0, Math.min(this.#ids.length - 1, at < 0 ? 0 : at + by));
    this.#reveal(next);
    this.#rows.get(this.#ids[next])?.querySelector("a").focus({ preventScroll: true });
  }

  #press(event) {
    if (event.key === "ArrowDown" || event.key === "Enter")
      (event.preventDefault(), this.#rows.get(this.#ids[0])?.querySelector("a").focus());
    if (event.key === "Escape" && this.#field.value) (event.stopPropagation(), (this.#field.value = ""), this.#load());
  }

  #tab(isHistory, words) {
    const choose = () => {
      this.#isHistory = isHistory;
      this.#filter.turn(isHistory);
      this.querySelectorAll(".tabs button").forEach((each) =>
        each.setAttribute("aria-pressed", String(each === button)),
      );
      this.#scroll.scrollTop = 0;
      this.#load();
    };
    const button = h(
      "button",
      { type: "button", "aria-pressed": String(isHistory === this.#isHistory), onclick: choose },
      words,
    );
    return button;
  }

  get #text() {
    return this.#field.value.trim();
  }

  #address(before) {
    const wanted = new URLSearchParams({ limit: PAGE, history: this.#isHistory, ...this.#filter.wanted });
    if (this.#text) wanted.set("text", this.#text);
    if (before) wanted.set("before", before);
    return `/api/threads?${wanted}`;
  }

  async #load() {
    const mine = ++this.#asked;
    const slow = setTimeout(() => show(this.#word, t("list.waiting")), 200);
    try {
      const page = await lookThrough(this.#address());
      if (mine !== this.#asked) return;
      const last = page.threads.at(-1)?.id;
      const further = this.#isSame(page) ? this.#ids.filter((id) => last && id < last) : [];
      this.#ids = [...page.threads.map((view) => view.id), ...further];
      if (!further.length) this.#next = page.next;
      show(
        this.#word,
        this.#ids.length ? null : t(this.#text ? "list.none_found" : this.#isHistory ? "list.no_history" : "list.none"),
      );
      page.threads.forEach((view) => this.#redraw(view));
      this.#paint();
    } catch {
      if (mine === this.#asked) show(this.#word, this.#ids.length ? null : t("away.connecting"));
    } finally {
      clearTimeout(slow);
    }
  }

  /** The same list as before, come again: what was scrolled to stays. */
  #isSame(page) {
    const what = JSON.stringify([this.#isHistory, this.#text, this.#filter.wanted]);
    const same = what === this.shownAs && Boolean(page.next);
    this.shownAs = what;
    return same;
  }

  async #more() {
    if (this.#isLoading || !this.#next) return;
    this.#isLoading = true;
    const mine = this.#asked;
    try {
      const page = await lookThrough(this.#address(this.#next));
      if (mine !== this.#asked) return;
      this.#ids.push(...page.threads.map((view) => view.id));
      this.#next = page.next;
      this.#paint();
    } catch {
      // Scrolling on tries again.
    } finally {
      this.#isLoading = false;
    }
  }

  #heard(view) {
    const at = this.#ids.indexOf(view.id);
    const isOfThese = OVER.has(view.status) === this.#isHistory && this.#filter.fits(view);
    const belongs = isOfThese && (at >= 0 || !this.#text);
    if (at >= 0 && !belongs) this.#ids.splice(at, 1);
    if (at < 0 && belongs && (!this.#next || view.id > this.#next)) {
      const place = this.#ids.findIndex((id) => id < view.id);
      this.#ids.splice(place < 0 ? this.#ids.length : place, 0, view.id);
      show(this.#word);
    }
    this.#redraw(view);
    this.#paint();
  }

  /** In its place, so that the focus stays. */
  #redraw(view) {
    this.#rows.get(view.id)?.firstChild.replaceChildren(...threadRow(view).firstChild.childNodes);
  }

  #reveal(at) {
    const { scrollTop, clientHeight } = this.#scroll;
    if (at * ROW < scrollTop) this.#scroll.scrollTop = at * ROW;
    if ((at + 1) * ROW > scrollTop + clientHeight) this.#scroll.scrollTop = (at + 1) * ROW - clientHeight;
    this.#draw();
  }

  #draw() {
    const { scrollTop, clientHeight } = this.#scroll;
    const from = Math.max(0, Math.floor(scrollTop / ROW) - SPARE);
    const to = Math.min(this.#ids.length, Math.ceil((scrollTop + clientHeight) / ROW) + SPARE);
    const seen = new Map(this.#ids.slice(from, to).map((id, number) => [id, from + number]));
    const focused = this.#space.contains(document.activeElement) ? document.activeElement.closest("li") : null;
    const held = focused ? this.#ids.indexOf(focused.dataset.thread) : -1;
    if (held >= 0) seen.set(this.#ids[held], held); // scrolled away, it keeps the focus
    const before = this.#rows;
    this.#rows = new Map([...seen.keys()].map((id) => [id, before.get(id) ?? threadRow(threads.get(id))]));
    this.#space.style.height = `${this.#ids.length * ROW}px`;
    seen.forEach((at, id) => this.#settle(this.#rows.get(id), id, at));
    before.forEach((row, id) => this.#rows.has(id) || row.remove());
    this.#rows.forEach((row) => row.isConnected || this.#space.append(row));
    if (focused && held < 0) this.#focusAt(Number(focused.getAttribute("aria-posinset")) - 1);
    if (to > this.#ids.length - SPARE) this.#more();
  }

  /** Where a row had the focus and is gone, the one in its place has it. */
  #focusAt(at) {
    const id = this.#ids[Math.min(at, this.#ids.length - 1)];
    (this.#rows.get(id)?.querySelector("a") ?? this.#field).focus({ preventScroll: true });
  }

  #settle(row, id, at) {
    row.style.transform = `translateY(${at * ROW}px)`;
    row.setAttribute("aria-setsize", String(this.#next ? -1 : this.#ids.length));
    row.setAttribute("aria-posinset", String(at + 1));
    const anchor = row.querySelector("a");
    if (id === this.#current) anchor.setAttribute("aria-current", "true");
    else anchor.removeAttribute("aria-current");
  }
}

customElements.define("clew-thread-list", ThreadList);

export const threadList = () => document.createElement("clew-thread-list");
