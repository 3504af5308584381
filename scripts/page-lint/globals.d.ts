/** Types that the page's modules share. `Api` is made from docs/reference/openapi.json by api_types.js. */

type Thread = Api.ThreadView;
type Gate = Api.GateView & { shown: Api.GateShown };
type Entry = Api.Passage;
type Item = Api.ItemView;

/** The kinds of events in the stream, and what is sent of each. Stored ones have their fields in `data`. */
type EventKind = Api.StreamEvent["event"];
type FrameOf<Kind extends EventKind> = Extract<Api.StreamEvent, { event: Kind }>["data"];
type StoredFrame = Extract<FrameOf<EventKind>, { kind: string; data: object }>;
type StoredKind = StoredFrame["kind"];

/** Emits each frame under its kind, and those that are in the daemon's log also as "stored". */
interface EventStream {
  on(name: "stored", listener: (kind: StoredKind, frame: StoredFrame) => unknown): () => unknown;
  on<Kind extends EventKind>(kind: Kind, listener: (frame: FrameOf<Kind>) => unknown): () => unknown;
  emit(name: string, ...args: unknown[]): void;
}

/** A child of an element: a node, or a text. Null, undefined and false are left out. */
type Child = ChildNode | DocumentFragment | string | number | boolean | null | undefined | Child[];
type Props = Record<string, string | number | boolean | null | undefined | ((event: any) => unknown)>;

/** What a view gets from app.js. */
type Frame = { setTitle: (title: string) => void };

interface HTMLElementTagNameMap {
  "clew-gate": import("/page/parts/gates/gate.js").GateElement;
  "clew-text": import("/page/parts/thread/text.js").MarkdownText;
}

// Every element that the page looks for is an HTML element.
interface ParentNode {
  querySelector<K extends keyof HTMLElementTagNameMap>(selectors: K): HTMLElementTagNameMap[K] | null;
  querySelector<E extends HTMLElement = HTMLElement>(selectors: string): E | null;
  querySelectorAll<K extends keyof HTMLElementTagNameMap>(selectors: K): NodeListOf<HTMLElementTagNameMap[K]>;
  querySelectorAll<E extends HTMLElement = HTMLElement>(selectors: string): NodeListOf<E>;
}

interface Element {
  closest<E extends HTMLElement = HTMLElement>(selectors: string): E | null;
}

// Trusted Types, which TypeScript does not know.
interface Window {
  trustedTypes?: { createPolicy(name: string, rules: { createHTML(html: string): string }): { createHTML(html: string): string } };
}
declare var trustedTypes: Window["trustedTypes"];
