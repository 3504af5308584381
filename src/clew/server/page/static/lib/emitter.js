// @ts-check
/** Named events, and those who listen to them. */
export class Emitter {
  /** @type {Map<string, Set<(...args: any[]) => unknown>>} */
  #listeners = new Map();

  /**
   * Returns a function that removes the listener.
   * @param {string} name
   * @param {(...args: any[]) => unknown} listener
   */
  on(name, listener) {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  /**
   * @param {string} name
   * @param {...unknown} args
   */
  emit(name, ...args) {
    for (const listener of [...(this.#listeners.get(name) ?? [])]) listener(...args);
  }
}
