// @ts-check
/** Formats times, durations and numbers for people. Times are milliseconds since 1970. */

import { language, t } from "/page/lib/words.js";

const locale = () => (language === "zh" ? "zh-CN" : "en-GB");
const DAY = 86_400_000;

/** @param {number} at */
export const formatTime = (at) =>
  new Intl.DateTimeFormat(locale(), { hour: "2-digit", minute: "2-digit", second: "2-digit" }).format(at);

/** @param {number} at */
const formatHour = (at) => new Intl.DateTimeFormat(locale(), { hour: "2-digit", minute: "2-digit" }).format(at);

/**
 * As short as possible: the time if it is today, the day if it is this year, else the whole date.
 * @param {number} at
 */
export function formatDate(at, now = Date.now()) {
  const day = new Date(at).toDateString();
  if (day === new Date(now).toDateString()) return formatHour(at);
  const sameYear = new Date(at).getFullYear() === new Date(now).getFullYear();
  return new Intl.DateTimeFormat(locale(), {
    day: "numeric",
    month: "short",
    ...(sameYear ? {} : { year: "numeric" }),
  }).format(at);
}

/** @param {number} at */
export const formatFullDate = (at) =>
  new Intl.DateTimeFormat(locale(), { dateStyle: "full", timeStyle: "medium" }).format(at);

/**
 * `3.2 s`, `4 min 05 s`, `2 h 10 min`, `3 d`.
 * @param {number} ms
 */
export function formatDuration(ms) {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 1) return t("span.ms", { ms: Math.round(ms) });
  if (seconds < 60) return t("span.s", { s: seconds < 10 ? seconds.toFixed(1) : Math.round(seconds) });
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return t("span.min", { min: minutes, s: String(Math.floor(seconds % 60)).padStart(2, "0") });
  if (ms < DAY) return t("span.h", { h: Math.floor(minutes / 60), min: String(minutes % 60).padStart(2, "0") });
  return t("span.d", { n: Math.floor(ms / DAY) });
}

/**
 * The same without fractions of a second, for what still runs.
 * @param {number} ms
 */
export const formatRunningDuration = (ms) =>
  ms < 60_000 ? t("span.s", { s: Math.floor(ms / 1000) }) : formatDuration(ms);

/**
 * How long ago: `just now`, `5 min`, `2 h`, `3 d`.
 * @param {number} at
 */
export function formatAge(at, now = Date.now()) {
  const minutes = Math.floor((now - at) / 60_000);
  if (minutes < 1) return t("age.now");
  if (minutes < 60) return t("age.min", { n: minutes });
  if (minutes < 1440) return t("age.h", { n: Math.floor(minutes / 60) });
  return t("span.d", { n: Math.floor(minutes / 1440) });
}

/** @param {number} value */
export const formatNumber = (value) => new Intl.NumberFormat(locale()).format(value);
/** @param {number} value */
export const formatCompactNumber = (value) =>
  new Intl.NumberFormat(locale(), { notation: "compact", maximumFractionDigits: 1 }).format(value);
/** @param {number} value */
export const formatBytes = (value) => {
  const units = ["B", "KB", "MB", "GB"];
  const step = value > 0 ? Math.min(3, Math.floor(Math.log(value) / Math.log(1024))) : 0;
  return `${(value / 1024 ** step).toFixed(step && value / 1024 ** step < 10 ? 1 : 0)} ${units[step]}`;
};

/**
 * The last part of a path.
 * @param {string | null | undefined} path
 */
export const folderName = (path) => (path ? path.replace(/\/+$/, "").split("/").pop() || "/" : "");
