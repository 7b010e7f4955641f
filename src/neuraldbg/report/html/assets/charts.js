// The curves, drawn by uPlot. Lines differ in their dashes as well as in their colour.
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3]];

/** An axis in the colours of the page. */
function axis(more) {
  return Object.assign({
    stroke: () => colour("quiet"), font: "12px system-ui", grid: { stroke: () => colour("faint"), width: 1 },
    ticks: { stroke: () => colour("faint"), width: 1 }, size: 52,
  }, more);
}

/** Draws curves into an element; returns the uPlot. `plan` has xs, series [{label, values}], log, height, hooks, x. */
function plot(element, plan) {
  element.replaceChildren();
  const width = Math.max(240, element.clientWidth);
  const options = {
    width, height: plan.height || 230, hooks: plan.hooks || {},
    legend: { live: true },
    cursor: { drag: { x: true, y: false }, points: { size: 7 } },
    scales: { x: { time: false, range: plan.xRange } },
    series: [
      { label: plan.x || "step", value: (u, v) => (v === null ? "–" : plan.xWords ? plan.xWords(v) : short(v)) },
      ...plan.series.map((line, i) => ({
        label: line.label, stroke: () => colour("curve-" + (i % 4)), width: 2, dash: DASHES[i % 4], spanGaps: true,
        value: (u, v) => (v === null ? "–" : short(plan.log ? 10 ** v : v)), points: { show: plan.xs.length < 40 || line.points === true },
      })),
    ],
    axes: [axis({ size: 34, space: plan.xTicks ? 130 : 50, values: plan.xTicks || ((u, ticks) => ticks.map(short)), incrs: plan.xIncrements }),
      axis({ size: 62, incrs: plan.log ? [1, 2, 5, 10, 20, 50, 100] : undefined,
        values: (u, ticks) => ticks.map((tick) => (plan.digits ? String(Number(tick.toPrecision(plan.digits))) : short(plan.log ? 10 ** tick : tick))) })],
  };
  // A number that was not positive has no place on a logarithmic axis.
  const rows = plan.series.map((line) => plan.log ? line.values.map((v) => (v !== null && v > 0 ? Math.log10(v) : null)) : line.values);
  return new uPlot(options, [plan.xs, ...rows], element);
}

/** A vertical line through the whole chart, with a letter or number at its top. */
function mark(u, step, sign, ink, dash) {
  const x = Math.round(u.valToPos(step, "x", true));
  if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) return;
  const context = u.ctx, ratio = devicePixelRatio;
  context.save();
  context.strokeStyle = context.fillStyle = ink;
  context.lineWidth = 1.5 * ratio;
  context.setLineDash(dash.map((part) => part * ratio));
  context.beginPath();
  context.moveTo(x, u.bbox.top);
  context.lineTo(x, u.bbox.top + (sign === "onset" ? u.bbox.height : 14 * ratio));
  context.stroke();
  context.font = 11 * ratio + "px system-ui";
  context.textAlign = "left";
  if (x > u.bbox.left + u.bbox.width * 0.9) context.textAlign = "right";
  context.fillText(sign, x + (context.textAlign === "right" ? -3 : 3) * ratio, u.bbox.top + (sign === "onset" ? 26 : 11) * ratio);
  context.restore();
}

/** Events by the step at which they begin; at most thirty signs, those of one step share theirs. */
function eventMarks() {
  const found = new Map();
  for (const node of Object.values(report.nodes)) {
    if (node.kind !== "event" || !node.steps) continue;
    if (!found.has(node.steps[0])) found.set(node.steps[0], []);
    found.get(node.steps[0]).push(node.title);
  }
  return [...found].sort((a, b) => a[0] - b[0]).slice(0, 30);
}

function drawCharts() {
  const marks = eventMarks();
  for (const element of document.querySelectorAll("[data-chart]")) {
    const name = element.dataset.chart, chart = report.charts[name];
    const hooks = { draw: [(u) => {
      if (name !== "loss") return;
      marks.forEach(([step], i) => mark(u, step, String(i + 1), colour("ink"), []));
      if (report.onset !== null) mark(u, report.onset, "onset", colour("onset"), [6, 4]);
      for (const line of chart.series) if (line.broken !== null) mark(u, line.broken, "✗", colour("bad"), []);
    }] };
    plot(element, { xs: chart.steps, series: chart.series, log: chart.log, hooks, height: name === "loss" ? 280 : 230 });
  }
  const list = byId("marks");
  if (list) list.replaceChildren(...marks.map(([step, titles]) => {
    const item = document.createElement("li");
    item.textContent = "step " + short(step) + ": " + titles.slice(0, 3).join("; ") + (titles.length > 3 ? "; and " + (titles.length - 3) + " more" : "");
    return item;
  }));
}
drawCharts();
onChange(drawCharts);
