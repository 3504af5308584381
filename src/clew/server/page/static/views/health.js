// @ts-check
/** The view "health": how the daemon, runtimes, surfaces and deliveries are, and plots of the last day. */

import { get } from "/page/lib/api.js";
import { h, redrawContent, setContent } from "/page/lib/dom.js";
import { changes } from "/page/lib/state.js";
import { events } from "/page/lib/stream.js";
import { coalesce } from "/page/lib/timing.js";
import { t } from "/page/lib/words.js";
import { awayCard } from "/page/parts/away.js";
import {
  countTroubles,
  daemonCard,
  handoffsCard,
  limitsCard,
  messagesCard,
  outboxCard,
  processesCard,
  runtimesCard,
  surfacesCard,
  usageCard,
} from "/page/parts/health_cards.js";
import { drawPlots } from "/page/parts/plots.js";

const FETCH_EVERY = 10_000; // milliseconds
const CHANGING = ["turn.ended", "delivery.", "handoff.", "gate.", "account."]; // kinds of events, or how they begin

class Health extends HTMLElement {
  #cards = h("div", { class: "cards" });
  #plots = h("section", { class: "card plots", "aria-label": t("plot.title"), hidden: true });
  #verdict = h("p", { class: "waits", role: "status" }, t("health.waiting"));
  /** @type {(() => unknown)[]} */
  #cleanups = [];
  #fetchSoon = coalesce(() => this.#fetch(), 400);

  connectedCallback() {
    this.className = "view-health";
    const heading = h("h1", { tabindex: "-1" }, t("nav.health"));
    this.replaceChildren(heading, this.#verdict, this.#plots, this.#cards, awayCard());
    const timer = setInterval(() => document.hidden || this.#fetch(), FETCH_EVERY);
    this.#cleanups = [
      () => clearInterval(timer),
      events.on("stored", (kind) => CHANGING.some((each) => kind.startsWith(each)) && this.#fetchSoon()),
      changes.on("resync", () => this.#fetch()),
    ];
    this.#fetch();
  }

  disconnectedCallback() {
    this.#cleanups.forEach((cleanup) => cleanup());
  }

  async #fetch() {
    const { status, outbox, processes, figures, handoffs, usage, limits } = await fetchAll();
    if (!status) return setContent(this.#verdict, t("away.words"));
    const troubles = countTroubles(status, outbox ?? []);
    setContent(this.#verdict, troubles ? t("health.troubles", { n: troubles }) : t("health.fine"));
    this.#verdict.className = troubles ? "verdict is-bad" : "verdict";
    redrawContent(
      this.#cards,
      daemonCard(status.daemon),
      runtimesCard(status.runtimes),
      surfacesCard(status.surfaces),
      outbox && outboxCard(outbox, this.#fetchSoon),
      processes && processesCard(processes),
      handoffs && handoffs.length > 0 && handoffsCard(handoffs),
      usage && usageCard(usage),
      limits && limitsCard(limits),
      messagesCard(status.fates),
    );
    this.#plots.hidden = !figures;
    if (figures) drawPlots(this.#plots, figures);
  }
}

/** Whatever cannot be fetched is null. */
async function fetchAll() {
  const paths = ["status", "outbox", "processes", "figures", "handoffs?limit=10", "usage", "limits"];
  /** @type {[Api.StatusView?, Api.OwedView[]?, Api.ProcessView[]?, Api.FiguresView?, Api.HandoffView[]?, Api.UsageView?, Api.LimitView[]?]} */
  const [status, outbox, processes, figures, handoffs, usage, limits] = /** @type {any} */ (
    await Promise.all(paths.map((path) => get(`/api/${path}`).catch(() => null)))
  );
  return { status, outbox, processes, figures, handoffs, usage, limits };
}

customElements.define("clew-health", Health);

/**
 * @param {string} _id
 * @param {Frame} frame
 */
export function view(_id, { setTitle }) {
  setTitle(t("nav.health"));
  return new Health();
}
