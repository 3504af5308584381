/** Start a thread: what is to be done, where, by whom, and how much it may do without asking. */

import { Away, get, newId, post } from "/page/lib/api.js";
import { h, icon, show } from "/page/lib/dom.js";
import { draft, keepDraft } from "/page/lib/drafts.js";
import { complain } from "/page/lib/say.js";
import { link } from "/page/lib/stream.js";
import { known, t } from "/page/lib/words.js";
import { Attachments, fileButton, takesFiles } from "/page/parts/attach.js";
import { adoptButton } from "/page/parts/adopt.js";

const NEW = "new";
const POLICIES = ["careful", "trusted", "read-only", "yolo"];

export function view(_, { entitle }) {
  entitle(t("new.title"));
  const kept = draft(NEW);
  const attached = new Attachments(() => keep(), kept.files);
  const text = h("textarea", {
    rows: "4",
    required: true,
    value: kept.text ?? "",
    placeholder: t("new.text.hint"),
    "aria-label": t("new.text"),
    "data-first": true,
  });
  const workspace = h("input", {
    type: "text",
    list: "workspaces",
    value: kept.workspace ?? "",
    placeholder: t("new.workspace.hint"),
    spellcheck: "false",
    autocomplete: "off",
  });
  const known_ = h("datalist", { id: "workspaces" });
  const runtime = h("select", {});
  const policy = h("select", {});
  const kind = h(
    "select",
    {},
    ["chat", "task"].map((each) => h("option", { value: each }, t(`kind.${each}`))),
  );
  const about = h("p", { class: "note" });
  const wait = h("p", { class: "waits", role: "status", hidden: true }, t("new.waiting"));
  const go = h("button", { class: "main", type: "submit" }, t("new.start"), h("kbd", {}, "↵"));

  const keep = () =>
    keepDraft(NEW, { text: text.value, workspace: workspace.value, files: attached.ready, id: kept.id });
  const say = () => show(about, t(`policy.${policy.value}.words`));

  async function start(event) {
    event?.preventDefault();
    if (go.disabled || !text.value.trim() || attached.isBusy) return;
    kept.id ??= newId(); // before the first try: said again, it is the same thread
    keep();
    go.disabled = true;
    try {
      const accepted = await post("/api/threads", wanted());
      keepDraft(NEW, { workspace: workspace.value });
      location.hash = `#/threads/${accepted.thread}`;
    } catch (error) {
      failed(error);
    }
  }

  function failed(error) {
    go.disabled = false;
    wait.hidden = !(error instanceof Away);
    if (!(error instanceof Away)) {
      kept.id = undefined; // it was refused: another try is another message
      return complain(error);
    }
    const off = link.on("state", (state) => state === "live" && (off(), form.isConnected && start()));
  }

  function wanted() {
    const more = { workspace: workspace.value.trim(), runtime: runtime.value, policy: policy.value };
    const given = Object.fromEntries(Object.entries(more).filter(([, value]) => value));
    return {
      message_id: kept.id,
      text: text.value,
      kind: kind.value,
      files: attached.ready.map((file) => file.id),
      ...given,
    };
  }

  text.addEventListener("keydown", (event) => {
    const isSend =
      event.key === "Enter" && !event.shiftKey && !event.isComposing && !matchMedia("(pointer: coarse)").matches;
    if (isSend) start(event);
  });

  const form = h(
    "form",
    { class: "start", onsubmit: start, oninput: keep },
    h(
      "div",
      { class: "start-text" },
      attached.element,
      text,
      h("div", { class: "composer-row" }, fileButton(attached), h("p", { class: "hint" }, t("composer.keys")), go),
    ),
    h(
      "div",
      { class: "start-more" },
      h("label", { class: "wide" }, h("span", {}, t("new.workspace")), workspace, known_),
      h("label", {}, h("span", {}, t("new.runtime")), runtime),
      h("label", {}, h("span", {}, t("new.policy")), policy),
      h("label", {}, h("span", {}, t("new.kind")), kind),
    ),
    about,
    wait,
  );
  takesFiles(form, attached);
  policy.addEventListener("change", say);
  fillChoices({ runtime, policy, workspaces: known_, workspace }).then(say);
  return h(
    "section",
    { class: "room-start" },
    h("h1", { tabindex: "-1" }, t("new.heading")),
    h("p", { class: "lead" }, t("new.lead")),
    form,
    adoptButton(),
  );
}

async function fillChoices({ runtime, policy, workspaces, workspace }) {
  const choices = await get("/api/choices").catch(() => ({ runtimes: [], policies: POLICIES, workspaces: [] }));
  const named = (each) =>
    each.health === "healthy" || !each.health
      ? each.name
      : `${each.name} (${known(`health.${each.health}`, each.health)})`;
  show(
    runtime,
    choices.runtimes.map((each) =>
      h("option", { value: each.name, selected: each.name === choices.default_runtime }, named(each)),
    ),
  );
  if (!choices.runtimes.length) show(runtime, h("option", { value: "" }, t("new.default")));
  show(
    policy,
    choices.policies.map((each) =>
      h("option", { value: each, selected: each === choices.default_policy }, known(`policy.${each}`, each)),
    ),
  );
  show(
    workspaces,
    choices.workspaces.map((each) => h("option", { value: each })),
  );
  workspace.value ||= choices.workspaces[0] ?? choices.default_workspace ?? "";
}
