/** The page: its frame, and which view stands in it. The address after `#` says where one is. */

import { door } from "/page/lib/api.js";
import { show, visible } from "/page/lib/dom.js";
import { lend, PASS } from "/page/lib/shortcuts.js";
import { lines } from "/page/lib/status_line.js";
import { follow, link } from "/page/lib/stream.js";
import { things, waits } from "/page/lib/state.js";
import { learn, t } from "/page/lib/words.js";
import "/page/lib/live_text.js";

await learn();

const { frame } = await import("/page/parts/frame.js");
const { overlay } = await import("/page/parts/dialogs/shortcuts_help.js");
const views = {
  threads: () => import("/page/views/new_thread.js"),
  new: () => import("/page/views/new_thread.js"),
  thread: () => import("/page/views/thread.js"),
  inbox: () => import("/page/views/inbox.js"),
  health: () => import("/page/views/health.js"),
};

const parts = frame();
document.body.replaceChildren(...parts.elements, lines);

function place() {
  const [, room = "threads", id] = location.hash.split("/");
  if (room === "threads" && /^[0-9A-Za-z]+$/.test(id ?? "")) return { name: "thread", id };
  return { name: Object.hasOwn(views, room) && room !== "thread" ? room : "threads" };
}

let shown = "";
let title = "";

async function go({ isFirst = false } = {}) {
  const { name, id } = place();
  const key = `${name}/${id ?? ""}`;
  if (key === shown) return;
  shown = key;
  document.body.dataset.view = name;
  parts.mark(name, id);
  const { view } = await views[name]().catch(comeBackLater);
  if (shown !== key) return;
  const element = view(id, { entitle });
  show(parts.main, element);
  if (name === "threads" && matchMedia("(max-width: 59.99rem)").matches) return;
  if (!isFirst || name !== "threads") focusIn(element, name);
}

/** In the list of threads one walks; everywhere else one begins with the first field. */
function focusIn(element, name) {
  const first = name === "threads" ? null : element.querySelector("[data-first]");
  (first ?? element.querySelector("h1") ?? parts.main).focus({ preventScroll: true });
}

/** A view that could not be fetched: browsers remember that, so the page begins anew once the daemon is there. */
function comeBackLater() {
  link.on("state", (state) => state === "live" && location.reload());
  return new Promise(() => {});
}

function visit(hash) {
  if (location.hash === hash) focusIn(parts.main, place().name);
  location.hash = hash;
}

/** What the tab is called; how much waits stands before it. */
function entitle(words) {
  title = words;
  const count = waits();
  document.title = visible(`${count ? `(${count}) ` : ""}${words ? `${words} · ` : ""}clew`);
}

things.on("waiting", () => entitle(title));
door.on("closed", () => parts.close());
addEventListener("hashchange", () => go());

lend("everywhere", {
  "?": ["key.help", overlay],
  "/": ["key.search", () => parts.search()],
  j: ["key.down", () => parts.list.step(1)],
  k: ["key.up", () => parts.list.step(-1)],
  n: ["key.new", () => visit("#/new")],
  "g t": ["key.threads", () => visit("#/threads")],
  "g i": ["key.inbox", () => visit("#/inbox")],
  "g h": ["key.health", () => visit("#/health")],
  Escape: ["key.escape", () => (document.activeElement?.blur?.(), PASS)],
});

entitle("");
const loadAll = () => Object.values(views).forEach((load) => load().catch(() => {})); // for when the daemon is away
go({ isFirst: true }).then(loadAll);
follow();
