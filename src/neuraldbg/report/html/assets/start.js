"use strict";
// What all parts of the page share: the data, colours, numbers in words.
const report = JSON.parse(document.getElementById("data").textContent);
const byId = (name) => document.getElementById(name);
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
const NOT_MEASURED = 65535, NOT_FINITE = 65534, ZERO = 65533;

/** A number in at most a few digits, as the text of the page writes it. */
function short(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value === Infinity) return "not finite";
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return value.toLocaleString("en-US");
  const size = Math.abs(value);
  return size >= 1e-4 && size < 1e6 ? String(Number(value.toPrecision(3))) : value.toExponential(2);
}

/** The steps that a column of the map stands for. */
function stepsOf(column) {
  const first = report.maps.edges[column], last = report.maps.edges[column + 1] - 1;
  return first === last ? "step " + short(first) : "steps " + short(first) + " to " + short(last);
}

/** Codes of a packed table of numbers. */
function codesOf(packed) {
  if (packed.list) return packed.list;
  const text = atob(packed.codes), list = new Uint16Array(text.length / 2);
  for (let i = 0; i < list.length; i++) list[i] = text.charCodeAt(2 * i) | (text.charCodeAt(2 * i + 1) << 8);
  packed.list = list;
  return list;
}

/** The number behind a code: null where nothing was measured, Infinity where it was not finite, -Infinity for zero. */
function numberOf(packed, code) {
  if (code === NOT_MEASURED) return null;
  if (code === NOT_FINITE) return Infinity;
  return code === ZERO ? -Infinity : packed.low + code * packed.step;
}

/** A value of a metric, in words. */
function inWords(metric, value) {
  if (value === null) return "not measured";
  if (value === Infinity) return "not finite";
  if (value === -Infinity) return metric.name === "gain" ? "all gradient is lost" : "zero";
  if (metric.scale === "share") return (100 * value).toPrecision(3).replace(/\.?0+$/, "") + " %";
  return short(10 ** value) + " (log10 " + value.toFixed(2) + ")";
}

const redraws = [];
/** Calls again whenever colours or sizes change. */
function onChange(redraw) { redraws.push(redraw); }
function redrawAll(reason) { for (const redraw of redraws) redraw(reason); }

byId("theme").addEventListener("change", (event) => {
  if (event.target.value) document.documentElement.dataset.theme = event.target.value;
  else delete document.documentElement.dataset.theme;
  redrawAll("colours");
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redrawAll("colours"));
let lastWidth = innerWidth;
addEventListener("resize", () => {
  if (innerWidth !== lastWidth) { lastWidth = innerWidth; redrawAll("size"); }
});
