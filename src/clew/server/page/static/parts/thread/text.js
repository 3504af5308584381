// @ts-check
/** `<clew-text>`: a text of an agent, as Markdown. While it is being written it only grows at its end: what the daemon
 * calls stable is not touched again, and what came since the last rendering is shown as plain text. */

import { escapeInvisible, h } from "/page/lib/dom.js";
import { htmlToNodes, renderMarkdown } from "/page/parts/thread/markdown.js";

const RENDER_EVERY = 100; // milliseconds between two renderings of a text that grows
const PER_CHARACTER = 0.05; // milliseconds more for each character that is not stable

export class MarkdownText extends HTMLElement {
  #text = "";
  #stable = h("div");
  #unstable = h("div");
  #plain = document.createTextNode("");
  #stableLength = 0;
  #renderedLength = 0;
  #isRendering = false;
  #plainElement = h("span", { class: "fresh" }, this.#plain);
  #parts = [this.#stable, this.#unstable, this.#plainElement];
  /** Settles when a complete text is rendered, or stays plain because the daemon does not answer. */
  rendered = Promise.resolve();

  connectedCallback() {
    if (!this.firstChild) this.append(...this.#parts);
  }

  /**
   * Renders a complete text.
   * @param {string} text
   */
  setComplete(text) {
    this.#reset(text);
    this.rendered = this.#renderComplete(text);
  }

  /** @param {string} text */
  async #renderComplete(text) {
    try {
      const { html } = await renderMarkdown(text);
      if (this.#text === text) this.replaceChildren(htmlToNodes(html));
    } catch {
      // Plain text is better than none.
    }
  }

  /** @param {string} text what was written so far */
  setGrowing(text) {
    if (!text.startsWith(this.#text)) this.#reset("");
    this.#plain.appendData(escapeInvisible(text.slice(this.#text.length)));
    this.#text = text;
    if (!this.#isRendering) this.#renderLoop();
  }

  /** @param {string} text */
  #reset(text) {
    this.#text = text;
    this.#stableLength = this.#renderedLength = 0;
    this.#stable.replaceChildren();
    this.#unstable.replaceChildren();
    this.#plain.data = escapeInvisible(text);
    this.replaceChildren(...this.#parts);
  }

  async #renderLoop() {
    this.#isRendering = true;
    while (this.#renderedLength < this.#text.length) {
      const began = performance.now();
      const text = this.#text;
      const from = this.#stableLength;
      try {
        const rendered = await renderMarkdown(text.slice(from));
        if (this.#text.startsWith(text) && this.#stableLength === from) this.#apply(text, rendered);
      } catch {
        break; // the next piece tries again
      }
      const took = performance.now() - began;
      const wait = Math.max(RENDER_EVERY + (text.length - from) * PER_CHARACTER - took, took);
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
    this.#isRendering = false;
  }

  /**
   * @param {string} text
   * @param {Api.RenderedView} rendered
   */
  #apply(text, rendered) {
    const isPrefix = rendered.html_stable && rendered.html.startsWith(rendered.html_stable);
    const stable = isPrefix ? rendered.html_stable : "";
    if (stable) {
      this.#stable.append(htmlToNodes(stable));
      this.#stableLength += rendered.stable;
    }
    this.#unstable.replaceChildren(htmlToNodes(rendered.html.slice(stable.length)));
    this.#renderedLength = text.length;
    writingPlace(this.#unstable).append(this.#plainElement);
    this.#plain.data = escapeInvisible(this.#text.slice(text.length));
  }
}

const CONTAINERS = new Set(["P", "UL", "OL", "LI", "BLOCKQUOTE", "PRE", "CODE", "H1", "H2", "H3", "H4"]);

/**
 * Where the next word most likely belongs: the paragraph, list item or code that is being written.
 * @param {Element} element
 * @returns {Element}
 */
function writingPlace(element) {
  const last = element.lastElementChild;
  return last && CONTAINERS.has(last.tagName) && (last.tagName !== "CODE" || element.tagName === "PRE")
    ? writingPlace(last)
    : element;
}

customElements.define("clew-text", MarkdownText);

/** @param {string} text which is complete */
export function newText(text) {
  const element = new MarkdownText();
  element.setComplete(text);
  return element;
}

export const growingText = () => new MarkdownText();
