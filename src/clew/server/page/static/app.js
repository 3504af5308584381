// @ts-check
/** Entry point: builds the frame and shows the view that the address after `#` names. */

import { auth } from "/page/lib/api.js";
import { escapeInvisible, focused, isTouch, setContent } from "/page/lib/dom.js";
import { addShortcuts, NOT_HANDLED } from "/page/lib/shortcuts.js";
import { changes, waitingCount } from "/page/lib/state.js";
import { statusElement } from "/page/lib/status_line.js";
import { followEvents, link } from "/page/lib/stream.js";
import { loadWords } from "/page/lib/words.js";
import "/page/lib/live_text.js";

await loadWords();

const { newFrame } = await import("/page/parts/frame.js");
const { showShortcutsHelp } = await import("/page/parts/dialogs/shortcuts_help.js");

/** @type {Record<string, () => Promise<{ view: (id: string, frame: Frame) => HTMLElement }>>} */
const views = {
  threads: () => import("/page/views/new_thread.js"),
  new: () => import("/page/views/new_thread.js"),
  thread: () => import("/page/views/thread.js"),
  inbox: () => import("/page/views/inbox.js"),
  health: () => import("/page/views/health.js"),
};

const frame = newFrame();
document.body.replaceChildren(...frame.elements, statusElement);

/** The view that the address names, and the id of its thread if it shows one. */
function currentPlace() {
  const [, name = "threads", id = ""] = location.hash.split("/");
  if (name === "threads" && /^[0-9A-Za-z]+$/.test(id)) return { name: "thread", id };
  return { name: Object.hasOwn(views, name) && name !== "thread" ? name : "threads", id: "" };
}

let shownPlace = "";
let title = "";

async function showView({ isFirst = false } = {}) {
  const { name, id } = currentPlace();
  const place = `${name}/${id}`;
  if (place === shownPlace) return;
  shownPlace = place;
  document.body.dataset.view = name;
  frame.setCurrent(name, id);
  const { view } = await views[name]().catch(reloadWhenLive);
  if (shownPlace !== place) return;
  const element = view(id, { setTitle });
  setContent(frame.main, element);
  if (name === "threads" && matchMedia("(max-width: 59.99rem)").matches) return;
  if (!isFirst || name !== "threads") focusView(element, name);
}

/**
 * Focuses the first field of a view, so that what is typed is text. In "threads" and on a touch screen the heading.
 * @param {HTMLElement} element
 * @param {string} name
 */
function focusView(element, name) {
  const field = name === "threads" || isTouch() ? null : element.querySelector("[data-first]:enabled");
  (field ?? element.querySelector("h1") ?? frame.main).focus({ preventScroll: true });
}

/**
 * The module of a view could not be fetched. Browsers remember that, so the page reloads when the daemon is back.
 * @returns {Promise<never>}
 */
function reloadWhenLive() {
  link.on("state", (state) => state === "live" && location.reload());
  return new Promise(() => {});
}

/** @param {string} hash */
function goTo(hash) {
  if (location.hash === hash) focusView(frame.main, currentPlace().name);
  location.hash = hash;
}

/**
 * Sets the title of the tab, with the number of what waits before it.
 * @param {string} text
 */
function setTitle(text) {
  title = text;
  const count = waitingCount();
  document.title = escapeInvisible(`${count ? `(${count}) ` : ""}${text ? `${text} · ` : ""}clew`);
}

changes.on("waiting", () => setTitle(title));
auth.on("login_required", () => frame.showLoginRequired());
addEventListener("hashchange", () => showView());

addShortcuts("everywhere", {
  "?": ["shortcut.help", showShortcutsHelp],
  "/": ["shortcut.search", () => frame.focusSearch()],
  j: ["shortcut.down", () => frame.list.focusNeighbour(1)],
  k: ["shortcut.up", () => frame.list.focusNeighbour(-1)],
  n: ["shortcut.new", () => goTo("#/new")],
  "g t": ["shortcut.threads", () => goTo("#/threads")],
  "g i": ["shortcut.inbox", () => goTo("#/inbox")],
  "g h": ["shortcut.health", () => goTo("#/health")],
  Escape: ["shortcut.escape", () => (focused()?.blur(), NOT_HANDLED)],
});

setTitle("");
// In case the daemon goes away later.
const preloadViews = () => Object.values(views).forEach((load) => load().catch(() => {}));
showView({ isFirst: true }).then(preloadViews);
followEvents();
