/** Times, spans and numbers as people read them. */

import { language, t } from "/page/lib/words.js";

const locale = () => (language === "zh" ? "zh-CN" : "en-GB");
const DAY = 86_400_000;

export const clock = (at) =>
  new Intl.DateTimeFormat(locale(), { hour: "2-digit", minute: "2-digit", second: "2-digit" }).format(at);

const hours = (at) => new Intl.DateTimeFormat(locale(), { hour: "2-digit", minute: "2-digit" }).format(at);

/** As short as it can be: the hour today, the day this year, else the date. */
export function when(at, now = Date.now()) {
  const day = new Date(at).toDateString();
  if (day === new Date(now).toDateString()) return hours(at);
  const sameYear = new Date(at).getFullYear() === new Date(now).getFullYear();
  return new Intl.DateTimeFormat(locale(), {
    day: "numeric",
    month: "short",
    ...(sameYear ? {} : { year: "numeric" }),
  }).format(at);
}

export const whole = (at) => new Intl.DateTimeFormat(locale(), { dateStyle: "full", timeStyle: "medium" }).format(at);

/** `3.2 s`, `4 min 05 s`, `2 h 10 min`, `3 d`. */
export function span(ms) {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 1) return t("span.ms", { ms: Math.round(ms) });
  if (seconds < 60) return t("span.s", { s: seconds < 10 ? seconds.toFixed(1) : Math.round(seconds) });
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return t("span.min", { min: minutes, s: String(Math.floor(seconds % 60)).padStart(2, "0") });
  if (ms < DAY) return t("span.h", { h: Math.floor(minutes / 60), min: String(minutes % 60).padStart(2, "0") });
  return t("span.d", { n: Math.floor(ms / DAY) });
}

/** The same without parts of a second, for what still goes on. */
export const spanSoFar = (ms) => (ms < 60_000 ? t("span.s", { s: Math.floor(ms / 1000) }) : span(ms));

/** For what has been waiting: `just now`, `5 min`, `2 h`, `3 d`. */
export function age(at, now = Date.now()) {
  const minutes = Math.floor((now - at) / 60_000);
  if (minutes < 1) return t("age.now");
  if (minutes < 60) return t("age.min", { n: minutes });
  if (minutes < 1440) return t("age.h", { n: Math.floor(minutes / 60) });
  return t("span.d", { n: Math.floor(minutes / 1440) });
}

export const number = (value) => new Intl.NumberFormat(locale()).format(value);
export const brief = (value) =>
  new Intl.NumberFormat(locale(), { notation: "compact", maximumFractionDigits: 1 }).format(value);
export const bytes = (value) => {
  const steps = ["B", "KB", "MB", "GB"];
  const step = value > 0 ? Math.min(3, Math.floor(Math.log(value) / Math.log(1024))) : 0;
  return `${(value / 1024 ** step).toFixed(step && value / 1024 ** step < 10 ? 1 : 0)} ${steps[step]}`;
};

/** The end of a path says the most. */
export const folder = (path) => (path ? path.replace(/\/+$/, "").split("/").pop() || "/" : "");
