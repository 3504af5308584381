/** A place where things are told to whoever listens. */
export class Hub {
  #ears = new Map();

  /** Returns what ends the listening. */
  on(kind, ear) {
    if (!this.#ears.has(kind)) this.#ears.set(kind, new Set());
    this.#ears.get(kind).add(ear);
    return () => this.#ears.get(kind)?.delete(ear);
  }

  tell(kind, ...about) {
    for (const ear of [...(this.#ears.get(kind) ?? [])]) ear(...about);
  }
}

/** Call `work` once, `wait` milliseconds after the first time that it was asked for. */
export function soon(work, wait) {
  let timer = null;
  return (...about) => {
    timer ??= setTimeout(() => {
      timer = null;
      work(...about);
    }, wait);
  };
}

/** Answers can overtake each other. Call what this gives before you ask; what that gives tells, once the answer is there,
 * whether it is news of a thing, or that of a later question has come already. */
export function inOrder() {
  const newest = new Map();
  let asked = 0;
  return () => {
    const mine = ++asked;
    return (thing) => {
      if (mine < (newest.get(thing) ?? 0)) return false;
      newest.set(thing, mine);
      return true;
    };
  };
}

/** Call `work` once before a frame, however often it was asked for, and not again for `rest` milliseconds. Also where
 * nobody looks at the page. */
export function nextFrame(work, rest = 0) {
  let last = 0;
  let isDue = false;
  return () => {
    if (isDue) return;
    isDue = true;
    const once = () => {
      if (!isDue) return;
      isDue = false;
      last = performance.now();
      work();
    };
    const wait = document.hidden ? 100 : last + rest - performance.now();
    if (wait > 0) setTimeout(() => (document.hidden ? once() : requestAnimationFrame(once)), wait);
    else requestAnimationFrame(once);
  };
}
