/** The words of the page, in the language of the browser: one file for each. */

const LANGUAGES = ["en", "zh"];
let words = {};

export let language = "en";

export async function learn() {
  const chosen = localStorage.getItem("clew.language");
  language = LANGUAGES.includes(chosen) ? chosen : wished();
  const answer = await fetch(`/page/words/${language}.json`);
  words = await answer.json();
  document.documentElement.lang = language === "zh" ? "zh-Hans" : "en";
}

function wished() {
  for (const each of navigator.languages ?? [navigator.language]) {
    const found = LANGUAGES.find((known) => each.toLowerCase().split("-")[0] === known);
    if (found) return found;
  }
  return "en";
}

/** The words of this name, with `{values}` filled in. Where there are two forms, `n` decides: "one line|{n} lines". */
export function t(name, values = {}) {
  const forms = (words[name] ?? name).split("|");
  const form = forms.length > 1 && values.n === 1 ? forms[0] : forms[forms.length - 1];
  return form.replace(/\{(\w+)\}/g, (hole, key, at) => spaced(form, at, hole, String(values[key] ?? "")));
}

/** Between Chinese and Latin stands a space. */
function spaced(form, at, hole, value) {
  const before = /\p{Script=Han}$/u.test(form.slice(0, at)) && /^\w/.test(value) ? " " : "";
  const after = /^\p{Script=Han}/u.test(form.slice(at + hole.length)) && /\w$/.test(value) ? " " : "";
  return before + value + after;
}

/** For words that come from outside, such as a status: ours where we have them, else theirs. */
export function known(name, otherwise) {
  return name in words ? words[name] : otherwise;
}
