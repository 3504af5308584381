/** `<clew-text>`: what an agent says, as Markdown. A text that is being written only ever grows at its end: what the
 * daemon calls closed is not touched again, and what has come since the last rendering stands there as plain text. */

import { h, visible } from "/page/lib/dom.js";
import { nodes, render } from "/page/parts/thread/markdown.js";

const PACE = 100; // milliseconds between two renderings of a text that grows
const PER_CHARACTER = 0.05; // and more where much of it is open

class Text extends HTMLElement {
  #text = "";
  #closed = h("div");
  #open = h("div");
  #fresh = document.createTextNode("");
  #closedTo = 0;
  #renderedTo = 0;
  #isWorking = false;
  #freshPlace = h("span", { class: "fresh" }, this.#fresh);
  #parts = [this.#closed, this.#open, this.#freshPlace];

  connectedCallback() {
    if (!this.firstChild) this.append(...this.#parts);
  }

  get text() {
    return this.#text;
  }

  /** A whole text, rendered at once. The promise ends when it stands there, or stays plain because nobody answers. */
  async whole(text) {
    this.#begin(text);
    try {
      const made = await render(text);
      if (this.#text === text) this.replaceChildren(nodes(made.html));
    } catch {
      // Plain text is better than none.
    }
  }

  /** The text so far. */
  grow(text) {
    if (!text.startsWith(this.#text)) this.#begin("");
    this.#fresh.appendData(visible(text.slice(this.#text.length)));
    this.#text = text;
    if (!this.#isWorking) this.#work();
  }

  #begin(text) {
    this.#text = text;
    this.#closedTo = this.#renderedTo = 0;
    this.#closed.replaceChildren();
    this.#open.replaceChildren();
    this.#fresh.data = visible(text);
    this.replaceChildren(...this.#parts);
  }

  async #work() {
    this.#isWorking = true;
    while (this.#renderedTo < this.#text.length) {
      const began = performance.now();
      const text = this.#text;
      const from = this.#closedTo;
      try {
        const made = await render(text.slice(from));
        if (this.#text.startsWith(text) && this.#closedTo === from) this.#settle(text, made);
      } catch {
        break; // the next piece tries again
      }
      const took = performance.now() - began;
      await new Promise((resolve) =>
        setTimeout(resolve, Math.max(PACE + (text.length - from) * PER_CHARACTER - took, took)),
      );
    }
    this.#isWorking = false;
  }

  #settle(text, made) {
    const closed = made.html_stable && made.html.startsWith(made.html_stable) ? made.html_stable : "";
    if (closed) {
      this.#closed.append(nodes(closed));
      this.#closedTo += made.stable;
    }
    this.#open.replaceChildren(nodes(made.html.slice(closed.length)));
    this.#renderedTo = text.length;
    lastPlace(this.#open).append(this.#freshPlace);
    this.#fresh.data = visible(this.#text.slice(text.length));
  }
}

const HOLDING = new Set(["P", "UL", "OL", "LI", "BLOCKQUOTE", "PRE", "CODE", "H1", "H2", "H3", "H4"]);

/** Where the next word would most likely stand: in the paragraph, the item or the code that is being written. */
function lastPlace(element) {
  const last = element.lastElementChild;
  return last && HOLDING.has(last.tagName) && (last.tagName !== "CODE" || element.tagName === "PRE")
    ? lastPlace(last)
    : element;
}

customElements.define("clew-text", Text);

export function wholeText(text) {
  const element = document.createElement("clew-text");
  element.rendered = element.whole(text);
  return element;
}

export const growingText = () => document.createElement("clew-text");
