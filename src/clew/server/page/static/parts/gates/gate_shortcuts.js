// @ts-check
/** The shortcuts that answer gates, for the views that show some. They act on the gate that has the focus, and on no
 * other: nobody answers by typing somewhere else. */

import { focused } from "/page/lib/dom.js";
import { isBrieflyDisabled } from "/page/parts/gates/gate_list.js";

/**
 * What a shortcut can do with a gate, or with the prompt of a suspended thread.
 * @typedef {HTMLElement & {
 *   allow(): unknown, decline(): unknown, stop(): unknown,
 *   allowInThread?(): unknown, allowAll?(): unknown, showRuleForm?(): unknown, merge?(): unknown, otherAgent?(): unknown,
 * }} Answerable
 */

/** @returns {import("/page/lib/shortcuts.js").Shortcuts} */
export function gateShortcuts() {
  /** @type {(act: (gate: Answerable, event: KeyboardEvent) => unknown) => (event: KeyboardEvent) => void} */
  const onGate = (act) => (event) => {
    const gate = /** @type {Answerable | null} */ (focused()?.closest(".gate"));
    if (gate && !isBrieflyDisabled(gate)) act(gate, event);
  };
  return {
    a: ["shortcut.allow", onGate((gate) => gate.allow())],
    t: ["shortcut.allow_thread", onGate((gate) => gate.allowInThread?.())],
    A: ["shortcut.allow_all", onGate((gate) => gate.allowAll?.())],
    r: ["shortcut.rule", onGate((gate) => gate.showRuleForm?.())],
    d: ["shortcut.decline", onGate((gate) => gate.decline())],
    x: ["shortcut.decline_stop", onGate((gate) => gate.stop())],
    m: ["shortcut.merge", onGate((gate) => gate.merge?.())],
    w: ["shortcut.other_agent", onGate((gate) => gate.otherAgent?.())],
    "1-9": ["shortcut.option", onGate((gate, { key }) => gate.querySelector(`[data-option="${key}"], [data-number="${key}"]`)?.click())],
  };
}
