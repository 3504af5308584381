/** What stands around every view: the way to the others, the list of threads, and whether the daemon is there. */

import { h, icon, show } from "/page/lib/dom.js";
import { link, linkState, tryNow } from "/page/lib/stream.js";
import { things, waits } from "/page/lib/state.js";
import { t } from "/page/lib/words.js";
import { overlay } from "/page/parts/dialogs/shortcuts_help.js";
import { threadList } from "/page/parts/list/thread_list.js";

const PATIENCE = 700; // milliseconds without the daemon before it is said

export function frame() {
  const badge = h("span", { class: "badge", hidden: true });
  const rooms = {
    threads: room("#/threads", "threads", t("nav.threads")),
    inbox: room("#/inbox", "inbox", t("nav.inbox"), badge),
    health: room("#/health", "health", t("nav.health")),
  };
  const main = h("main", { id: "main", tabindex: "-1" });
  const list = threadList();
  const side = h("div", { class: "side", role: "complementary", "aria-label": t("nav.threads") }, list);
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
    h("nav", { "aria-label": t("nav.rooms") }, Object.values(rooms)),
    h("div", { class: "tools" }, themeButton(), tool("keys", t("nav.keys"), overlay)),
  );
  const word = h("div", { class: "link-word", role: "status", hidden: true });

  things.on("waiting", () => {
    badge.textContent = String(waits());
    badge.hidden = waits() === 0;
    badge.setAttribute("aria-label", t("nav.waiting", { n: waits() }));
  });
  watchLink(word);

  /** On a phone the list is a view of its own. */
  const isNarrow = matchMedia("(max-width: 59.99rem)");
  const lead = (isMain) => {
    side.setAttribute("role", isMain ? "main" : "complementary");
    list.querySelector("[role=heading]")?.setAttribute("aria-level", isMain ? "1" : "2");
  };
  isNarrow.addEventListener("change", () => lead(document.body.dataset.view === "threads" && isNarrow.matches));

  return {
    elements: [header, word, h("div", { class: "frame" }, side, main)],
    main,
    list,
    mark(name, id) {
      const current = name === "thread" || name === "new" ? "threads" : name;
      for (const [each, element] of Object.entries(rooms)) {
        if (each === current) element.setAttribute("aria-current", "page");
        else element.removeAttribute("aria-current");
      }
      list.mark(id ?? null);
      lead(name === "threads" && isNarrow.matches);
    },
    search() {
      if (getComputedStyle(side).display === "none") location.hash = "#/threads";
      requestAnimationFrame(() => list.search());
    },
    close() {
      show(word, h("p", {}, t("closed.words")), h("code", {}, "clew web"), h("p", {}, t("closed.then")));
      word.className = "link-word is-closed";
      word.hidden = false;
    },
  };
}

const room = (href, drawing, words, ...more) =>
  h("a", { href, class: "room" }, icon(drawing), h("span", {}, words), ...more);

const tool = (drawing, words, onclick) =>
  h("button", { class: "quiet", type: "button", title: words, "aria-label": words, onclick }, icon(drawing));

/** A clear word when the daemon is away. A short blink is not worth one. */
function watchLink(word) {
  let timer = null;
  const draw = () => {
    const { state } = linkState();
    if (state === "closed") return;
    word.className = "link-word";
    word.hidden = state === "live" || state === "resting";
    if (word.hidden) return show(word);
    show(
      word,
      h("p", {}, h("span", { class: "dot" }), t(state === "away" ? "away.words" : "away.connecting")),
      h("button", { class: "link", type: "button", onclick: tryNow }, t("away.try")),
    );
  };
  link.on("state", (state) => {
    clearTimeout(timer);
    if (state === "live" || state === "resting") draw();
    else timer = setTimeout(draw, PATIENCE);
  });
}

function themeButton() {
  const root = document.documentElement;
  const isDark = () =>
    (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const button = tool("moon", t("nav.theme"), () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    localStorage.setItem("clew.theme", root.dataset.theme);
    draw();
  });
  const draw = () => show(button, icon(isDark() ? "sun" : "moon"));
  draw();
  return button;
}
