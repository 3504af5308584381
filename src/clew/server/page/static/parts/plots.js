/** Small plots of the last day, drawn as SVG: turns that ended, how long they took, and how long the oldest question
 * waited. What the eye sees is also said in words. */

import { h, show, svg } from "/page/lib/dom.js";
import { number, span, when } from "/page/lib/format.js";
import { t } from "/page/lib/words.js";

const WIDTH = 480;
const HEIGHT = 72;
const GAP = 1.5;

export function plots(place, { begins, buckets }) {
  const first = when(begins);
  const ended = buckets.reduce((sum, each) => sum + each.ended, 0);
  const failed = buckets.reduce((sum, each) => sum + each.failed, 0);
  const medians = buckets.map((each) => each.median).filter((each) => each !== null);
  const oldest = Math.max(0, ...buckets.map((each) => each.oldest_gate ?? 0));
  const middle = medians.length ? span(medians.toSorted((a, b) => a - b)[Math.floor(medians.length / 2)]) : "–";
  show(
    place,
    h("h2", {}, t("plot.title")),
    plot(
      t("plot.turns"),
      t("plot.turns.words", { ended: number(ended), failed: number(failed) }),
      bars(buckets),
      first,
    ),
    plot(t("plot.latency"), t("plot.latency.words", { median: middle }), line(buckets, "median", "p95"), first),
    plot(
      t("plot.gates"),
      oldest ? t("plot.gates.words", { oldest: span(oldest) }) : t("plot.gates.none"),
      line(buckets, "oldest_gate"),
      first,
    ),
  );
}

function plot(name, words, marks, first) {
  const picture = svg(
    "svg",
    {
      class: "plot",
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": `${name}: ${words}`,
    },
    svg("line", { class: "floor", x1: 0, x2: WIDTH, y1: HEIGHT - 0.5, y2: HEIGHT - 0.5 }),
    ...marks,
  );
  return h(
    "figure",
    {},
    h("figcaption", {}, h("strong", {}, name), h("span", {}, words)),
    picture,
    h("div", { class: "plot-feet", "aria-hidden": "true" }, h("span", {}, first), h("span", {}, t("plot.now"))),
  );
}

const scale = (highest) => (value) => (value / (highest || 1)) * (HEIGHT - 6);

function bars(buckets) {
  const height = scale(Math.max(1, ...buckets.map((each) => each.ended)));
  const width = WIDTH / buckets.length;
  return buckets.flatMap((each, at) => [
    bar("is-ended", at * width, width, height(each.ended), each.ended),
    bar("is-failed", at * width, width, height(each.failed), each.failed),
  ]);
}

const bar = (kind, x, width, height, value) =>
  value ? svg("rect", { class: kind, x: x + GAP / 2, width: width - GAP, y: HEIGHT - height, height, rx: 1.5 }) : "";

function line(buckets, ...names) {
  const height = scale(Math.max(1, ...buckets.flatMap((each) => names.map((name) => each[name] ?? 0))));
  const width = WIDTH / buckets.length;
  return names.flatMap((name, which) => {
    const points = buckets.map((each, at) =>
      each[name] === null ? null : [at * width + width / 2, HEIGHT - 2 - height(each[name])],
    );
    return [
      svg("path", { class: which ? "is-p95" : "is-line", d: path(points) }),
      ...points
        .filter((point, at) => point && !points[at - 1] && !points[at + 1])
        .map(([x, y]) => svg("circle", { class: which ? "is-p95" : "is-line", cx: x, cy: y, r: 2 })),
    ];
  });
}

/** Where there is nothing, the line stops. */
function path(points) {
  return points
    .map((point, at) => (point ? `${points[at - 1] ? "L" : "M"}${point[0].toFixed(1)} ${point[1].toFixed(1)}` : ""))
    .join("");
}
