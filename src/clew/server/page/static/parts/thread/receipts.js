/** Where the answers of a thread have gone, at each of them. */

import { get } from "/page/lib/api.js";
import { show } from "/page/lib/dom.js";
import { soon } from "/page/lib/emitter.js";
import { receipt } from "/page/parts/thread/entry.js";

const ANSWER = /^(.+):final(?::\d+)?$/;

const asked = new WeakMap(); // timeline → what gives it its receipts

/** Soon, and once for all that asked in the meantime. */
export function giveReceipts(thread, within) {
  if (!asked.has(within))
    asked.set(
      within,
      soon(() => give(thread, within), 200),
    );
  asked.get(within)();
}

async function give(thread, within) {
  let rows;
  try {
    rows = await get(`/api/threads/${thread}/deliveries`);
  } catch {
    return; // the next event asks again
  }
  const byTurn = Map.groupBy(
    rows.filter((row) => ANSWER.test(row.delivery)),
    (row) => row.delivery.match(ANSWER)[1],
  );
  for (const place of within.querySelectorAll(".receipts")) {
    const found = byTurn.get(place.dataset.turn) ?? [];
    show(place, found.slice(-1).map(receipt));
  }
}
