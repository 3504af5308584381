/** How clew is: the daemon, runtimes, surfaces, what is owed, what runs; for anything degraded why, and what to do. */

import { get, post } from "/page/lib/api.js";
import { h, redraw, show, worded } from "/page/lib/dom.js";
import { age, bytes, clock, number, when } from "/page/lib/format.js";
import { soon } from "/page/lib/emitter.js";
import { during, say } from "/page/lib/status_line.js";
import { events } from "/page/lib/stream.js";
import { things, threads } from "/page/lib/state.js";
import { known, t } from "/page/lib/words.js";
import { away } from "/page/parts/away.js";
import { plots } from "/page/parts/plots.js";

const LOOKED_AT = ["status", "outbox", "processes", "figures", "handoffs?limit=10"];
const EVERY = 10_000;
const TELLING = /^(turn\.ended|delivery\.|handoff\.|gate\.)/;

class Health extends HTMLElement {
  #now = h("div", { class: "cards" });
  #plots = h("section", { class: "card plots", "aria-label": t("plot.title"), hidden: true });
  #word = h("p", { class: "waits", role: "status" }, t("health.waiting"));
  #ends = [];
  #again = soon(() => this.#look(), 400);

  connectedCallback() {
    this.className = "room-health";
    this.replaceChildren(h("h1", { tabindex: "-1" }, t("nav.health")), this.#word, this.#plots, this.#now, away());
    const timer = setInterval(() => document.hidden || this.#look(), EVERY);
    this.#ends = [
      () => clearInterval(timer),
      events.on("stored", (kind) => TELLING.test(kind) && this.#again()),
      things.on("fresh", () => this.#look()),
    ];
    this.#look();
  }

  disconnectedCallback() {
    this.#ends.forEach((end) => end());
  }

  async #look() {
    const [status, outbox, children, figures, handoffs] = await Promise.all(
      LOOKED_AT.map((each) => get(`/api/${each}`).catch(() => null)),
    );
    if (!status) return show(this.#word, t("away.words"));
    show(this.#word, summary(status, outbox));
    this.#word.className = troubles(status, outbox) ? "verdict is-bad" : "verdict";
    redraw(
      this.#now,
      daemon(status.daemon),
      runtimes(status.runtimes),
      surfaces(status.surfaces),
      outbox && owed(outbox, this.#again),
      children && running(children),
      handoffs?.length > 0 && moves(handoffs),
      messages(status.fates),
    );
    this.#plots.hidden = !figures;
    if (figures) plots(this.#plots, figures);
  }
}

/** A surface that is up may still have what it could not deliver. */
const isIll = (each) =>
  each.health === "degraded" || each.state === "down" || (each.state === "up" && Boolean(each.reason));

function troubles(status, outbox) {
  const failed = (outbox ?? []).filter((each) => each.state === "failed").length;
  return (
    status.runtimes.filter(isIll).length +
    status.surfaces.filter(isIll).length +
    (status.daemon.left_out ?? []).length +
    failed
  );
}

function summary(status, outbox) {
  const count = troubles(status, outbox);
  return count ? t("health.troubles", { n: count }) : t("health.fine");
}

const card = (title, ...content) => h("section", { class: "card" }, h("h2", {}, title), ...content);
const fact = (name, value) =>
  value !== null && value !== undefined && value !== "" && h("div", {}, h("dt", {}, name), h("dd", {}, value));
const mark = (state, words) => h("span", { class: `status is-${state}` }, h("span", { class: "dot" }), words);

function daemon(about) {
  const troubled = [
    about.outdated && t("daemon.outdated"),
    !about.supervised && t("daemon.unsupervised"),
    ...(about.left_out ?? []),
  ].filter(Boolean);
  return card(
    t("daemon"),
    h(
      "dl",
      { class: "facts" },
      fact(t("daemon.version"), about.version),
      fact(t("daemon.up"), age(about.since)),
      fact("pid", String(about.pid)),
      fact(t("daemon.home"), h("code", {}, about.home)),
    ),
    troubled.map((words) => h("p", { class: "trouble" }, worded(words))),
  );
}

function runtimes(list) {
  return card(
    t("runtimes"),
    h(
      "ul",
      { class: "states" },
      list.map((each) =>
        h(
          "li",
          {},
          h("strong", {}, each.name),
          mark(each.health, known(`health.${each.health}`, each.health)),
          each.pid && h("small", {}, `pid ${each.pid}`),
          why(each, t("runtimes.do", { name: each.name })),
        ),
      ),
    ),
  );
}

function surfaces(list) {
  const row = (each) =>
    h(
      "li",
      {},
      h("strong", {}, known(`surface.${each.name}`, each.name)),
      mark(each.state, known(`surface.is.${each.state}`, each.state)),
      each.pending > 0 && h("small", {}, t("surfaces.pending", { n: each.pending })),
      why(each, each.state === "down" ? t("surfaces.do") : ""),
    );
  return card(
    t("surfaces"),
    list.length ? h("ul", { class: "states" }, list.map(row)) : h("p", { class: "note" }, worded(t("surfaces.none"))),
  );
}

const why = (each, advice) =>
  each.reason &&
  h(
    "p",
    { class: isIll(each) ? "trouble" : "note" },
    worded(each.reason),
    isIll(each) && advice ? [" ", h("span", { class: "advice" }, worded(advice))] : null,
  );

function owed(list, again) {
  const retry = async () => {
    const done = await during(t("outbox.waits"), post("/api/notify", { retry_failed: true }));
    if (done) say(t("outbox.tried", { n: done.length }));
    again();
  };
  const row = (each) =>
    h(
      "li",
      { "data-row": each.delivery },
      h(
        "a",
        { href: `#/threads/${each.thread}` },
        known(`surface.${(each.conversation ?? "").split(":")[0]}`, each.conversation ?? ""),
      ),
      mark(each.state, known(`delivery.${each.state}`, each.state)),
      h("small", {}, t("outbox.attempts", { n: each.attempts })),
      each.next_at && each.state === "pending" && h("small", {}, t("outbox.next", { at: clock(each.next_at) })),
      each.error && h("p", { class: "trouble" }, each.error),
    );
  const hasFailed = list.some((each) => each.state === "failed");
  return card(
    t("outbox"),
    list.length
      ? h("ul", { class: "states" }, list.slice(0, 20).map(row))
      : h("p", { class: "note" }, t("outbox.empty")),
    hasFailed && h("button", { class: "plain", type: "button", "data-row": "retry", onclick: retry }, t("outbox.retry")),
  );
}

function running(list) {
  const row = (each) =>
    h(
      "li",
      { "data-row": `pid ${each.pid}` },
      h("code", { title: each.command }, each.role),
      h("small", {}, `pid ${each.pid}`),
      each.rss > 0 && h("small", {}, bytes(each.rss)),
      h("small", {}, age(Date.now() - each.age * 1000)),
      each.threads.map((thread) =>
        h("a", { href: `#/threads/${thread}` }, threads.get(thread)?.title ?? t("gate.thread")),
      ),
    );
  return card(
    t("children"),
    list.length ? h("ul", { class: "states" }, list.map(row)) : h("p", { class: "note" }, t("children.none")),
  );
}

function moves(list) {
  const row = (each) =>
    h(
      "li",
      { "data-row": each.id },
      h("a", { href: `#/threads/${each.thread}` }, threads.get(each.thread)?.title || t("gate.thread")),
      h("span", {}, `→ ${known(`surface.${each.surface}`, each.surface)}`),
      mark(each.state, known(`handoff.is.${each.state}`, each.state)),
      h("small", {}, when(each.requested_at)),
      each.error && h("p", { class: "trouble" }, each.error),
    );
  return card(t("handoffs"), h("ul", { class: "states" }, list.map(row)));
}

function messages(fates) {
  return card(
    t("messages"),
    h(
      "dl",
      { class: "facts" },
      Object.entries(fates).map(([fate, count]) => fact(known(`fate.name.${fate}`, fate), number(count))),
    ),
  );
}

customElements.define("clew-health", Health);

export function view(_, { entitle }) {
  entitle(t("nav.health"));
  return document.createElement("clew-health");
}
