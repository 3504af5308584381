/** Files for a message: chosen, dropped or pasted; sent at once, named in the message later. */

import { upload } from "/page/lib/api.js";
import { h, icon, redraw } from "/page/lib/dom.js";
import { bytes } from "/page/lib/format.js";
import { complain } from "/page/lib/status_line.js";
import { t } from "/page/lib/words.js";

export class Attachments {
  #files = []; // {id, name, size} or, while it is sent, {name, size, stop}
  element = h("ul", { class: "files", "aria-label": t("files") });

  /** `changed` hears of every file that is there. */
  constructor(changed, known = []) {
    this.changed = changed;
    this.#files = [...known];
    this.#draw();
  }

  get ready() {
    return this.#files.filter((file) => file.id);
  }

  get isBusy() {
    return this.#files.some((file) => !file.id);
  }

  /** Those that are there; what is under way goes on. */
  set(known) {
    this.#files = [...known, ...this.#files.filter((file) => !file.id)];
    this.#draw();
  }

  async add(list) {
    await Promise.all([...list].map((file) => this.#send(file)));
  }

  async #send(file) {
    const control = new AbortController();
    const entry = { name: file.name || t("files.unnamed"), size: file.size, stop: () => control.abort() };
    this.#files.push(entry);
    this.#draw();
    try {
      const kept = await upload(new File([file], entry.name, { type: plainType(file) }), control.signal);
      Object.assign(entry, { id: kept.id, name: kept.name, stop: undefined });
    } catch (error) {
      this.#files = this.#files.filter((each) => each !== entry);
      if (!control.signal.aborted) complain(error);
    }
    this.#draw();
    this.changed();
  }

  #drop(entry) {
    entry.stop?.();
    this.#files = this.#files.filter((each) => each !== entry);
    this.#draw();
    this.changed();
  }

  #draw() {
    redraw(
      this.element,
      this.#files.map((file) => this.#chip(file)),
    );
    this.element.hidden = this.#files.length === 0;
  }

  #chip(file) {
    const label = t("files.remove", { name: file.name });
    return h(
      "li",
      { class: file.id ? "" : "waits", "data-row": file.name },
      icon("clip"),
      h("span", {}, file.name),
      h("small", {}, file.id ? bytes(file.size) : t("files.sending")),
      h(
        "button",
        { class: "quiet", type: "button", "aria-label": label, onclick: () => this.#drop(file) },
        icon("close"),
      ),
    );
  }
}

/** Source code has a hundred types; to the daemon it is text. */
function plainType(file) {
  const isPlain = !file.type || /^(application\/(x-|javascript|toml|xml|yaml)|video\/mp2t)/.test(file.type);
  return isPlain ? "text/plain" : file.type;
}

/** Let `element` take files that are dropped on it or pasted into it. */
export function takesFiles(element, attachments) {
  element.addEventListener("dragover", (event) => {
    if (![...event.dataTransfer.types].includes("Files")) return;
    event.preventDefault();
    element.classList.add("is-over");
  });
  element.addEventListener(
    "dragleave",
    (event) => !element.contains(event.relatedTarget) && element.classList.remove("is-over"),
  );
  element.addEventListener("drop", (event) => {
    element.classList.remove("is-over");
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    attachments.add(event.dataTransfer.files);
  });
  element.addEventListener("paste", (event) => {
    if (!event.clipboardData.files.length) return;
    event.preventDefault();
    attachments.add(event.clipboardData.files);
  });
}

export function fileButton(attachments) {
  const input = h("input", {
    type: "file",
    multiple: true,
    hidden: true,
    onchange: () => attachments.add(input.files).then(() => (input.value = "")),
  });
  return [
    input,
    h(
      "button",
      {
        class: "quiet",
        type: "button",
        title: t("files.add"),
        "aria-label": t("files.add"),
        onclick: () => input.click(),
      },
      icon("clip"),
    ),
  ];
}
