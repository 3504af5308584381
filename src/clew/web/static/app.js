/** The page: its frame, and which view stands in it. The address after `#` says where one is. */

import { door } from "/page/lib/api.js";
import { show, visible } from "/page/lib/dom.js";
import { lend, PASS } from "/page/lib/keys.js";
import { lines } from "/page/lib/say.js";
import { follow } from "/page/lib/stream.js";
import { things, waits } from "/page/lib/things.js";
import { learn, t } from "/page/lib/words.js";
import "/page/lib/texts.js";

await learn();

const { frame } = await import("/page/parts/frame.js");
const { overlay } = await import("/page/parts/overlay.js");
const views = {
  threads: () => import("/page/views/new.js"),
  new: () => import("/page/views/new.js"),
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
  const { view } = await views[name]();
  if (shown !== key) return;
  const element = view(id, { entitle });
  show(parts.main, element);
  if (name === "threads" && matchMedia("(max-width: 59.99rem)").matches) return;
  if (!isFirst || name !== "threads")
    (element.querySelector("[data-first]") ?? element.querySelector("h1") ?? parts.main).focus({ preventScroll: true });
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
  n: ["key.new", () => (location.hash = "#/new")],
  "g t": ["key.threads", () => (location.hash = "#/threads")],
  "g i": ["key.inbox", () => (location.hash = "#/inbox")],
  "g h": ["key.health", () => (location.hash = "#/health")],
  Escape: ["key.escape", () => (document.activeElement?.blur?.(), PASS)],
});

entitle("");
const loadAll = () => Object.values(views).forEach((load) => load().catch(() => {})); // for when the daemon is away
go({ isFirst: true }).then(loadAll);
follow();
