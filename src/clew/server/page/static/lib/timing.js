// @ts-check
/** When to run something that is asked for often, and which of several responses to use. */

/**
 * Returns a function that runs `work` once, `wait` milliseconds after its first call; calls until then are dropped.
 * @param {(...args: any[]) => unknown} work
 * @param {number} wait
 */
export function coalesce(work, wait) {
  /** @type {number | null} */
  let timer = null;
  return (/** @type {any[]} */ ...args) => {
    timer ??= setTimeout(() => {
      timer = null;
      work(...args);
    }, wait);
  };
}

/**
 * Detects responses that arrive out of order. Call the returned function before a request; it returns `isNewest`. Call
 * that when the response is there: it is false if a later request about the same subject was answered already.
 */
export function newestOnly() {
  const newest = new Map(); // subject → number of the newest request that was answered
  let count = 0;
  return () => {
    const number = ++count;
    return (/** @type {unknown} */ subject = undefined) => {
      if (number < (newest.get(subject) ?? 0)) return false;
      newest.set(subject, number);
      return true;
    };
  };
}

/**
 * Returns a function that runs `work` before the next frame, once however often it is called, and at most every
 * `minimumGap` milliseconds. It also runs in a hidden tab, which has no frames.
 * @param {() => unknown} work
 */
export function oncePerFrame(work, minimumGap = 0) {
  let last = 0;
  let isScheduled = false;
  return () => {
    if (isScheduled) return;
    isScheduled = true;
    const run = () => {
      if (!isScheduled) return;
      isScheduled = false;
      last = performance.now();
      work();
    };
    const wait = document.hidden ? 100 : last + minimumGap - performance.now();
    if (wait > 0) setTimeout(() => (document.hidden ? run() : requestAnimationFrame(run)), wait);
    else requestAnimationFrame(run);
  };
}
