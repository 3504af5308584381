// @ts-check
/** Plots of the last day, drawn as SVG: turns that ended, how long they took, and how long the oldest gate waited. Each
 * has its figures as text too. */

import { h, setContent, svg } from "/page/lib/dom.js";
import { formatDate, formatDuration, formatNumber } from "/page/lib/format.js";
import { t } from "/page/lib/words.js";

const WIDTH = 480;
const HEIGHT = 72;
const GAP = 1.5;

/**
 * @param {HTMLElement} element
 * @param {Api.FiguresView} figures
 */
export function drawPlots(element, { begins, buckets }) {
  const first = formatDate(begins);
  const ended = buckets.reduce((sum, each) => sum + each.ended, 0);
  const failed = buckets.reduce((sum, each) => sum + each.failed, 0);
  const medians = buckets.flatMap((each) => (each.median === null ? [] : [each.median])).toSorted((a, b) => a - b);
  const oldest = Math.max(0, ...buckets.map((each) => each.oldest_gate ?? 0));
  const median = medians.length ? formatDuration(medians[Math.floor(medians.length / 2)]) : "–";
  setContent(
    element,
    h("h2", {}, t("plot.title")),
    plot(
      t("plot.turns"),
      t("plot.turns.words", { ended: formatNumber(ended), failed: formatNumber(failed) }),
      bars(buckets),
      first,
    ),
    plot(t("plot.latency"), t("plot.latency.words", { median }), line(buckets, "median", "p95"), first),
    plot(
      t("plot.gates"),
      oldest ? t("plot.gates.words", { oldest: formatDuration(oldest) }) : t("plot.gates.none"),
      line(buckets, "oldest_gate"),
      first,
    ),
  );
}

/**
 * @param {string} name
 * @param {string} text
 * @param {Child[]} marks
 * @param {string} first when it begins
 */
function plot(name, text, marks, first) {
  const picture = svg(
    "svg",
    {
      class: "plot",
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": `${name}: ${text}`,
    },
    svg("line", { class: "floor", x1: 0, x2: WIDTH, y1: HEIGHT - 0.5, y2: HEIGHT - 0.5 }),
    ...marks,
  );
  return h(
    "figure",
    {},
    h("figcaption", {}, h("strong", {}, name), h("span", {}, text)),
    picture,
    h("div", { class: "plot-feet", "aria-hidden": "true" }, h("span", {}, first), h("span", {}, t("plot.now"))),
  );
}

/** @param {number} highest */
const scale = (highest) => (/** @type {number} */ value) => (value / (highest || 1)) * (HEIGHT - 6);

/** @param {Api.Bucket[]} buckets */
function bars(buckets) {
  const height = scale(Math.max(1, ...buckets.map((each) => each.ended)));
  const width = WIDTH / buckets.length;
  return buckets.flatMap((each, index) => [
    bar("is-ended", index * width, width, height(each.ended), each.ended),
    bar("is-failed", index * width, width, height(each.failed), each.failed),
  ]);
}

/** @type {(kind: string, x: number, width: number, height: number, value: number) => Child} */
const bar = (kind, x, width, height, value) =>
  value ? svg("rect", { class: kind, x: x + GAP / 2, width: width - GAP, y: HEIGHT - height, height, rx: 1.5 }) : "";

/**
 * @param {Api.Bucket[]} buckets
 * @param {...keyof Api.Bucket} names a line for each
 */
function line(buckets, ...names) {
  const height = scale(Math.max(1, ...buckets.flatMap((each) => names.map((name) => each[name] ?? 0))));
  const width = WIDTH / buckets.length;
  return names.flatMap((name, number) => {
    const points = buckets.map((each, index) => {
      const value = each[name];
      return value === null ? null : { x: index * width + width / 2, y: HEIGHT - 2 - height(value) };
    });
    const kind = number ? "is-p95" : "is-line";
    const alone = points.filter((point, index) => point && !points[index - 1] && !points[index + 1]);
    return [
      svg("path", { class: kind, d: path(points) }),
      ...alone.map((point) => point && svg("circle", { class: kind, cx: point.x, cy: point.y, r: 2 })),
    ];
  });
}

/**
 * An SVG path; it stops where a point is missing.
 * @param {({ x: number, y: number } | null)[]} points
 */
function path(points) {
  return points
    .map((point, index) => (point ? `${points[index - 1] ? "L" : "M"}${point.x.toFixed(1)} ${point.y.toFixed(1)}` : ""))
    .join("");
}
