// @ts-check
/** The order of the list of threads: by last activity, newest first. */

import { threads } from "/page/lib/state.js";

/**
 * Whether the thread with this id comes after the other one.
 * @param {string} id
 * @param {Thread} other
 */
export function isAfter(id, other) {
  const at = threads.get(id)?.active_at ?? 0;
  return at < other.active_at || (at === other.active_at && id < other.id);
}

/**
 * Puts a thread into the list where its last activity belongs, unless that is on a page that was not fetched yet.
 * @param {string[]} ids
 * @param {Thread} thread
 * @param {boolean} isWhole whether the list has its last page
 * @returns {boolean} whether it is in the list now
 */
export function insertByActivity(ids, thread, isWhole) {
  const place = ids.findIndex((id) => isAfter(id, thread));
  if (place < 0 && !isWhole) return false;
  ids.splice(place < 0 ? ids.length : place, 0, thread.id);
  return true;
}
