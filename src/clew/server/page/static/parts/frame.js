// @ts-check
/** What is around every view: the navigation, the list of threads, and whether the daemon is reachable. */

import { h, icon, setContent, withCode } from "/page/lib/dom.js";
import { changes, waitingCount } from "/page/lib/state.js";
import { link, linkState, reconnectNow } from "/page/lib/stream.js";
import { t } from "/page/lib/words.js";
import { showShortcutsHelp } from "/page/parts/dialogs/shortcuts_help.js";
import { newThreadList } from "/page/parts/list/thread_list.js";

const SHOW_OFFLINE_AFTER = 700; // milliseconds: a short interruption is not worth a banner

export function newFrame() {
  const badge = h("span", { class: "badge", hidden: true });
  const links = {
    threads: navLink("#/threads", "threads", t("nav.threads")),
    inbox: navLink("#/inbox", "inbox", t("nav.inbox"), badge),
    health: navLink("#/health", "health", t("nav.health")),
  };
  const main = h("main", { id: "main", tabindex: "-1" });
  const list = newThreadList();
  const side = h("div", { class: "side", role: "complementary", "aria-label": t("nav.threads") }, list);
  const nav = h("nav", { "aria-label": t("nav.views") }, Object.values(links));
  const body = h("div", { class: "frame" }, side, main);
  /** Logged out, the page shows nothing that could be filled in or pressed in vain. */
  const setLoggedOut = (/** @type {boolean} */ isOut) => (nav.hidden = body.hidden = isOut);
  const header = h(
    "header",
    { class: "top" },
    h("a", { class: "skip", href: "#main", onclick: (event) => (event.preventDefault(), main.focus()) }, t("nav.skip")),
    h(
      "a",
      { class: "brand", href: "#/threads", "aria-label": "clew" },
      h("img", { src: "/page/icon.svg", alt: "", width: "26", height: "26" }),
      h("span", {}, "clew"),
    ),
    nav,
    h("div", { class: "tools" }, themeButton(), toolButton("keys", t("nav.keys"), showShortcutsHelp)),
  );
  const banner = h("div", { class: "link-banner", role: "status", hidden: true });

  changes.on("waiting", () => {
    badge.textContent = String(waitingCount());
    badge.hidden = waitingCount() === 0;
    badge.setAttribute("aria-label", t("nav.waiting", { n: waitingCount() }));
  });
  showLinkState(banner);
  link.on("state", (state) => state === "live" && setLoggedOut(false));

  const narrow = matchMedia("(max-width: 59.99rem)"); // on a phone the list is a view of its own
  const setListRole = (/** @type {boolean} */ isMain) => {
    side.setAttribute("role", isMain ? "main" : "complementary");
    list.querySelector("[role=heading]")?.setAttribute("aria-level", isMain ? "1" : "2");
  };
  narrow.addEventListener("change", () => setListRole(document.body.dataset.view === "threads" && narrow.matches));

  return {
    elements: [header, banner, body],
    main,
    list,
    /**
     * Marks the view, and the thread in the list, that are shown.
     * @param {string} view
     * @param {string} thread
     */
    setCurrent(view, thread) {
      const current = view === "thread" || view === "new" ? "threads" : view;
      for (const [name, element] of Object.entries(links)) {
        if (name === current) element.setAttribute("aria-current", "page");
        else element.removeAttribute("aria-current");
      }
      list.setCurrent(thread);
      setListRole(view === "threads" && narrow.matches);
    },
    focusSearch() {
      if (getComputedStyle(side).display === "none") location.hash = "#/threads";
      requestAnimationFrame(() => list.focusSearch());
    },
    showLoginRequired() {
      setLoggedOut(true);
      setContent(banner, h("p", {}, t("closed.words")), h("code", {}, "clew web"), h("p", {}, t("closed.then")));
      banner.className = "link-banner is-closed";
      banner.hidden = false;
    },
  };
}

/**
 * @param {string} href
 * @param {Parameters<typeof icon>[0]} iconName
 * @param {string} label
 * @param {...Child} more
 */
const navLink = (href, iconName, label, ...more) =>
  h("a", { href, class: "nav-link" }, icon(iconName), h("span", {}, label), ...more);

/**
 * @param {Parameters<typeof icon>[0]} iconName
 * @param {string} label
 * @param {() => unknown} onclick
 */
const toolButton = (iconName, label, onclick) =>
  h("button", { class: "quiet", type: "button", title: label, "aria-label": label, onclick }, icon(iconName));

/**
 * Shows a banner while the daemon is not reachable.
 * @param {HTMLElement} banner
 */
function showLinkState(banner) {
  /** @type {number | undefined} */
  let timer;
  const draw = () => {
    const state = linkState();
    if (state === "logged_out") return;
    banner.className = "link-banner";
    banner.hidden = state === "live" || state === "paused";
    if (banner.hidden) return setContent(banner);
    setContent(
      banner,
      h("p", {}, h("span", { class: "dot" }), t(state === "offline" ? "away.words" : "away.connecting")),
      state === "offline" && h("p", {}, h("span", {}, withCode(t("away.start")))),
      h("button", { class: "link", type: "button", onclick: reconnectNow }, t("away.try")),
    );
  };
  link.on("state", (state) => {
    clearTimeout(timer);
    if (state === "live" || state === "paused") draw();
    else timer = setTimeout(draw, SHOW_OFFLINE_AFTER);
  });
}

function themeButton() {
  const root = document.documentElement;
  const isDark = () =>
    (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const button = toolButton("moon", t("nav.theme"), () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    localStorage.setItem("clew.theme", root.dataset.theme);
    draw();
  });
  const draw = () => setContent(button, icon(isDark() ? "sun" : "moon"));
  draw();
  return button;
}
