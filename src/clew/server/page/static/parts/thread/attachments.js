// @ts-check
/** Files of a message: chosen, dropped or pasted. They are uploaded at once; the message names them later. */

import { upload } from "/page/lib/api.js";
import { h, icon, redrawContent } from "/page/lib/dom.js";
import { formatBytes } from "/page/lib/format.js";
import { showError } from "/page/lib/status_line.js";
import { t } from "/page/lib/words.js";

/**
 * @typedef {import("/page/lib/drafts.js").StoredFile} StoredFile
 * @typedef {{ id?: undefined, name: string, size: number, abort: () => void }} Upload a file that is being uploaded
 */

export class Attachments {
  /** @type {(StoredFile | Upload)[]} */
  #files;
  #onChange;
  element = h("ul", { class: "files", "aria-label": t("files") });

  /**
   * @param {() => unknown} onChange called when a file was uploaded or removed
   * @param {StoredFile[]} [stored]
   */
  constructor(onChange, stored = []) {
    this.#onChange = onChange;
    this.#files = [...stored];
    this.#draw();
  }

  get ready() {
    return this.#files.filter((file) => file.id !== undefined);
  }

  get isBusy() {
    return this.#files.some((file) => file.id === undefined);
  }

  /**
   * Sets the files that are uploaded. Uploads that run go on.
   * @param {StoredFile[]} stored
   */
  set(stored) {
    this.#files = [...stored, ...this.#files.filter((file) => file.id === undefined)];
    this.#draw();
  }

  /** @param {Iterable<File>} list */
  async add(list) {
    await Promise.all([...list].map((file) => this.#upload(file)));
  }

  /** @param {File} file */
  async #upload(file) {
    const control = new AbortController();
    /** @type {Upload} */
    const running = { name: file.name || t("files.unnamed"), size: file.size, abort: () => control.abort() };
    this.#files.push(running);
    this.#draw();
    try {
      const { id, name } = await upload(new File([file], running.name, { type: plainType(file) }), control.signal);
      this.#files = this.#files.map((each) => (each === running ? { id, name, size: file.size } : each));
    } catch (error) {
      this.#files = this.#files.filter((each) => each !== running);
      if (!control.signal.aborted) showError(error);
    }
    this.#draw();
    this.#onChange();
  }

  /** @param {StoredFile | Upload} file */
  #remove(file) {
    if (file.id === undefined) file.abort();
    this.#files = this.#files.filter((each) => each !== file);
    this.#draw();
    this.#onChange();
  }

  #draw() {
    redrawContent(
      this.element,
      this.#files.map((file) => this.#chip(file)),
    );
    this.element.hidden = this.#files.length === 0;
  }

  /** @param {StoredFile | Upload} file */
  #chip(file) {
    const label = t("files.remove", { name: file.name });
    return h(
      "li",
      { class: file.id ? "" : "waits", "data-row": file.name },
      icon("clip"),
      h("span", {}, file.name),
      h("small", {}, file.id ? formatBytes(file.size) : t("files.sending")),
      h(
        "button",
        { class: "quiet", type: "button", "aria-label": label, onclick: () => this.#remove(file) },
        icon("close"),
      ),
    );
  }
}

/**
 * Source code has a hundred media types; to the daemon it is text.
 * @param {File} file
 */
function plainType(file) {
  const isPlain = !file.type || /^(application\/(x-|javascript|toml|xml|yaml)|video\/mp2t)/.test(file.type);
  return isPlain ? "text/plain" : file.type;
}

/**
 * Lets an element accept files that are dropped on it or pasted into it.
 * @param {HTMLElement} element
 * @param {Attachments} attachments
 */
export function acceptFiles(element, attachments) {
  element.addEventListener("dragover", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    element.classList.add("is-over");
  });
  element.addEventListener(
    "dragleave",
    (event) =>
      !element.contains(/** @type {Node | null} */ (event.relatedTarget)) && element.classList.remove("is-over"),
  );
  element.addEventListener("drop", (event) => {
    element.classList.remove("is-over");
    if (!event.dataTransfer?.files.length) return;
    event.preventDefault();
    attachments.add(event.dataTransfer.files);
  });
  element.addEventListener("paste", (event) => {
    if (!event.clipboardData?.files.length) return;
    event.preventDefault();
    attachments.add(event.clipboardData.files);
  });
}

/** @param {Attachments} attachments */
export function fileButton(attachments) {
  /** @type {HTMLInputElement} */
  const input = h("input", {
    type: "file",
    multiple: true,
    hidden: true,
    onchange: () => attachments.add(input.files ?? []).then(() => (input.value = "")),
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
