// @ts-check
/** The texts of the page, in the language of the browser: one file for each language. */

const LANGUAGES = ["en", "zh"];
/** @type {Record<string, string>} */
let words = {};
/** @type {Record<string, string>} the sentences of clew by code; empty in English, which comes with the code */
let sentences = {};

export let language = "en";

export async function loadWords() {
  const chosen = localStorage.getItem("clew.language");
  language = chosen && LANGUAGES.includes(chosen) ? chosen : browserLanguage();
  [words, sentences] = await Promise.all([
    fetchJson(`/page/words/${language}.json`),
    language === "en" ? {} : fetchJson(`/page/words/sentences.${language}.json`),
  ]);
  document.documentElement.lang = language === "zh" ? "zh-Hans" : "en";
}

/** @param {string} path */
const fetchJson = async (path) => (await fetch(path)).json();

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
  return fill(form, values);
}

/**
 * @param {string} form
 * @param {Record<string, string | number>} values
 */
const fill = (form, values) =>
  form.replace(/\{(\w+)\}/g, (hole, key, index) => withSpaces(form, index, hole, String(values[key] ?? "")));

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

/**
 * What an agent is called in sentences: `Codex`.
 * @param {string} runtime
 */
export const agentName = (runtime) => runtime.slice(0, 1).toUpperCase() + runtime.slice(1);

/**
 * A text of the API. A sentence of clew, whose code is in `texts`, is shown in the language of the page; a text of
 * somebody else, and a sentence that this page does not know, as it is.
 * @template {string} Field
 * @param {{ [name in Field]?: string | null } & { texts?: Record<string, Api.Coded> }} view
 * @param {Field} field
 * @returns {string}
 */
export const said = (view, field) => translated(view.texts?.[field]) ?? view[field] ?? "";

/**
 * The same for a field that is a list.
 * @template {string} Field
 * @param {{ [name in Field]?: string[] } & { texts?: Record<string, Api.Coded> }} view
 * @param {Field} field
 */
export const saidEach = (view, field) =>
  (view[field] ?? []).map((text, index) => translated(view.texts?.[`${field}.${index}`]) ?? text);

/**
 * @param {Api.Coded | undefined} coded
 * @returns {string | null} null if the page does not have this sentence, or one that is in it
 */
function translated(coded) {
  if (!coded || !Object.hasOwn(sentences, coded.code)) return null;
  const values = Object.entries(coded.args ?? {}).map(([name, value]) => [
    name,
    typeof value === "object" ? translated(value) : value,
  ]);
  return values.some(([, value]) => value === null) ? null : fill(sentences[coded.code], Object.fromEntries(values));
}
