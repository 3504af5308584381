// @ts-check
/** The texts of the page, in the language of the browser: one file for each language. */

const LANGUAGES = ["en", "zh"];
/** @type {Record<string, string>} */
let words = {};

export let language = "en";

export async function loadWords() {
  const chosen = localStorage.getItem("clew.language");
  language = chosen && LANGUAGES.includes(chosen) ? chosen : browserLanguage();
  const response = await fetch(`/page/words/${language}.json`);
  words = await response.json();
  document.documentElement.lang = language === "zh" ? "zh-Hans" : "en";
}

function browserLanguage() {
  for (const wanted of navigator.languages ?? [navigator.language]) {
    const found = LANGUAGES.find((each) => wanted.toLowerCase().split("-")[0] === each);
    if (found) return found;
  }
  return "en";
}

/**
 * The text with this name, with `{values}` filled in. If it has two forms, `n` decides: "one line|{n} lines".
 * @param {string} name
 * @param {Record<string, string | number>} [values]
 */
export function t(name, values = {}) {
  const forms = (words[name] ?? name).split("|");
  const form = forms.length > 1 && values.n === 1 ? forms[0] : forms[forms.length - 1];
  return form.replace(/\{(\w+)\}/g, (hole, key, index) => withSpaces(form, index, hole, String(values[key] ?? "")));
}

/**
 * Puts spaces between Chinese and Latin letters.
 * @param {string} form
 * @param {number} index
 * @param {string} hole
 * @param {string} value
 */
function withSpaces(form, index, hole, value) {
  const before = /\p{Script=Han}$/u.test(form.slice(0, index)) && /^\w/.test(value) ? " " : "";
  const after = /^\p{Script=Han}/u.test(form.slice(index + hole.length)) && /\w$/.test(value) ? " " : "";
  return before + value + after;
}

/**
 * The text with this name, or `fallback` if there is none: for values of the API, such as a status.
 * @template Fallback
 * @param {string} name
 * @param {Fallback} fallback
 * @returns {string | Fallback}
 */
export function tOr(name, fallback) {
  return name in words ? words[name] : fallback;
}
