// The map of the layers over time, the curve of one layer, and the gradient over depth.
const RAMP = [[24, 15, 61], [81, 18, 124], [183, 55, 121], [252, 137, 97], [252, 253, 191]];
const SPLIT = [[5, 80, 174], [120, 170, 225], [235, 235, 235], [240, 160, 90], [150, 50, 0]];
const map = { metric: null, row: 0, column: 0, cursor: null, marked: null, image: null, labels: 0, height: 0 };

function between(stops, share) {
  const at = Math.min(0.9999, Math.max(0, share)) * (stops.length - 1), i = Math.floor(at), part = at - i;
  return stops[i].map((value, k) => Math.round(value + (stops[i + 1][k] - value) * part));
}

/** Lowest and highest value of the colours; symmetric about 0 for gains. */
function rangeOf(metric) {
  if (metric.scale === "share") return [0, 1];
  const cells = metric.cells;
  if (metric.name !== "gain") return [cells.low, cells.high > cells.low ? cells.high : cells.low + 1];
  const most = Math.max(0.3, Math.min(3, Math.max(Math.abs(cells.low), Math.abs(cells.high))));
  return [-most, most];
}

function colourOf(metric, value) {
  const [low, high] = rangeOf(metric);
  return between(metric.name === "gain" ? SPLIT : RAMP, (value - low) / (high - low));
}

/** The column whose measurement a column shows: itself, or where the whole metric was not observed, the last before. */
function sourceOf(metric, column) {
  let at = column;
  while (at > 0 && !metric.measured[at]) at--;
  return at;
}

function valueAt(metric, row, column) {
  const codes = codesOf(metric.cells), columns = report.maps.edges.length - 1;
  return numberOf(metric.cells, codes[row * columns + sourceOf(metric, column)]);
}

/** One pixel per cell; patterns for "not finite" and "zero" come on top of it. */
function paint(metric) {
  const rows = report.maps.labels.length, columns = report.maps.edges.length - 1;
  const canvas = document.createElement("canvas");
  canvas.width = columns; canvas.height = rows;
  const context = canvas.getContext("2d"), picture = context.createImageData(columns, rows);
  map.special = [];
  for (let column = 0; column < columns; column++) for (let row = 0; row < rows; row++) {
    const value = valueAt(metric, row, column), at = 4 * (row * columns + column);
    if (value === null) continue;
    const special = !Number.isFinite(value);
    if (special) map.special.push([row, column, value > 0]);
    const rgb = special ? (value > 0 ? [255, 59, 48] : [110, 110, 110]) : colourOf(metric, value);
    picture.data.set([...rgb, 255], at);
  }
  context.putImageData(picture, 0, 0);
  map.image = canvas;
}

function drawMap() {
  const canvas = byId("map-canvas"), box = byId("map-box");
  const rows = report.maps.labels.length, columns = report.maps.edges.length - 1, ratio = devicePixelRatio || 1;
  const width = Math.max(240, box.clientWidth), each = Math.max(2, Math.min(24, 480 / rows));
  map.labels = Math.min(190, width * 0.32); map.height = Math.max(60, each * rows); map.width = width - map.labels - 4;
  canvas.width = width * ratio; canvas.height = (map.height + 22) * ratio;
  canvas.style.height = map.height + 22 + "px";
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  context.fillStyle = colour("empty");
  context.fillRect(map.labels, 0, map.width, map.height);
  context.imageSmoothingEnabled = false;
  context.drawImage(map.image, map.labels, 0, map.width, map.height);
  const cellWidth = map.width / columns, cellHeight = map.height / rows;
  context.strokeStyle = "#000"; context.lineWidth = 1;
  context.beginPath();
  for (const [row, column, infinite] of map.special) {
    const x = map.labels + column * cellWidth, y = row * cellHeight;
    if (cellWidth < 5 && column % Math.ceil(5 / cellWidth)) continue;
    const right = x + Math.max(3, Math.min(cellWidth, 8));
    if (infinite) { context.moveTo(x, y + cellHeight); context.lineTo(right, y); }
    else { context.moveTo(x + 1, y); context.lineTo(x + 1, y + cellHeight); }
  }
  context.stroke();
  context.fillStyle = colour("ink"); context.font = "12px system-ui"; context.textBaseline = "middle";
  const every = Math.ceil(13 / cellHeight);
  for (let row = 0; row < rows; row += every)
    context.fillText(clipped(context, report.maps.labels[row], map.labels - 8), 2, (row + 0.5) * cellHeight + (every > 1 ? 4 : 0));
  context.fillStyle = colour("quiet"); context.textBaseline = "top";
  const last = report.maps.edges[columns] - 1;
  context.fillText("step 0", map.labels, map.height + 6);
  context.textAlign = "right"; context.fillText("step " + short(last), width - 4, map.height + 6); context.textAlign = "left";
  if (map.marked) outline(context, map.marked.row, map.marked.row, map.marked.first, map.marked.last, [6, 3], 3);
  outline(context, map.row, map.row, 0, columns - 1, [], 1.5);
  if (map.cursor) outline(context, map.cursor[0], map.cursor[0], map.cursor[1], map.cursor[1], [], 2.5);
}

function clipped(context, label, room) {
  if (context.measureText(label).width <= room) return label;
  let text = label;
  while (text.length > 3 && context.measureText("…" + text).width > room) text = text.slice(1);
  return "…" + text;
}

/** A frame that shows on light and on dark cells alike. */
function outline(context, top, bottom, first, last, dash, width) {
  const rows = report.maps.labels.length, columns = report.maps.edges.length - 1;
  const box = [map.labels + first * map.width / columns, top * map.height / rows,
    Math.max(3, (last - first + 1) * map.width / columns), Math.max(3, (bottom - top + 1) * map.height / rows)];
  context.save();
  context.lineWidth = width + 2; context.strokeStyle = "#000"; context.strokeRect(...box);
  context.setLineDash(dash); context.lineWidth = width; context.strokeStyle = "#fff"; context.strokeRect(...box);
  context.restore();
}

function read() {
  if (!map.cursor) return;
  const [row, column] = map.cursor, from = sourceOf(map.metric, column);
  const late = from === column ? "" : " (measured at " + stepsOf(from) + ")";
  byId("map-reading").textContent = report.maps.labels[row] + ", " + stepsOf(column) + ": "
    + map.metric.title.replace(" (log10)", "").toLowerCase() + " " + inWords(map.metric, valueAt(map.metric, row, column)) + late;
}

function legend() {
  const strip = document.createElement("canvas"), [low, high] = rangeOf(map.metric);
  strip.width = 160; strip.height = 1;
  const context = strip.getContext("2d");
  for (let x = 0; x < 160; x++) {
    context.fillStyle = "rgb(" + colourOf(map.metric, low + (high - low) * x / 159) + ")";
    context.fillRect(x, 0, 1, 1);
  }
  strip.setAttribute("aria-hidden", "true");
  const words = (name, text) => {
    const part = document.createElement("span"), sign = document.createElement("i");
    sign.className = name;
    part.append(sign, text);
    return part;
  };
  const scale = document.createElement("span");
  scale.append(inWords(map.metric, low) + " ", strip, " " + inWords(map.metric, high));
  byId("map-legend").replaceChildren(scale, words("unknown", "not measured"), words("broken", "not finite"), words("zero", "zero"));
}

function chooseMetric(name) {
  map.metric = report.maps.metrics.find((metric) => metric.name === name) || report.maps.metrics[0];
  byId("metric").value = map.metric.name;
  byId("metric-words").textContent = map.metric.words;
  paint(map.metric); drawMap(); legend(); read(); drawLayer();
}

function chooseLayer(row) {
  map.row = row;
  byId("layer").value = String(row);
  drawMap(); drawLayer();
}

function drawLayer() {
  const columns = report.maps.edges.length - 1, xs = [], values = [];
  let broken = null, unknown = 0;
  for (let column = 0; column < columns; column++) {
    if (!map.metric.measured[column]) continue;
    const value = valueAt(map.metric, map.row, column);
    xs.push(report.maps.edges[column]);
    values.push(value !== null && Number.isFinite(value) ? value : null);
    if (value === Infinity && broken === null) broken = column;
    if (value === null) unknown++;
  }
  const label = report.maps.labels[map.row];
  byId("layer-title").textContent = "One layer: " + label;
  const known = values.filter((value) => value !== null);
  const words = known.length ? map.metric.title + " of " + label + ": from " + short(known[0]) + " to " + short(known.at(-1))
    + ", lowest " + short(Math.min(...known)) + ", highest " + short(Math.max(...known)) + "." : map.metric.title + " of " + label + ": no finite number.";
  byId("layer-words").textContent = words + (broken === null ? "" : " Not finite from " + stepsOf(broken) + ".") + (unknown ? " Not measured in " + unknown + " of " + xs.length + " columns." : "");
  byId("layer-chart").setAttribute("aria-label", byId("layer-words").textContent);
  plot(byId("layer-chart"), { xs, series: [{ label: map.metric.title, values }], height: 200, digits: 4 });
}

function drawDepth() {
  const metric = report.maps.metrics.find((found) => found.name === "gradient"), slider = byId("depth-step");
  if (!metric || !slider) return;
  const rows = report.maps.labels.length, columns = report.maps.edges.length - 1;
  const seen = metric.measured.map((yes, i) => (yes ? i : -1)).filter((i) => i >= 0);
  const chosen = sourceOf(metric, Number(slider.value));
  const along = (column) => Array.from({ length: rows }, (_, row) => {
    const value = valueAt(metric, row, column);
    return value !== null && Number.isFinite(value) ? value : null;
  });
  byId("depth-at").textContent = stepsOf(chosen);
  const now = along(chosen), known = now.map((value, row) => [value, row]).filter((pair) => pair[0] !== null);
  byId("depth-words").textContent = known.length
    ? "At " + stepsOf(chosen) + ": log10 of the gradient norm " + short(known[0][0]) + " at " + report.maps.labels[known[0][1]] + ", " + short(known.at(-1)[0]) + " at " + report.maps.labels[known.at(-1)[1]] + "."
    : "At " + stepsOf(chosen) + " no gradient was finite and above zero.";
  plot(byId("depth-chart"), {
    xs: Array.from({ length: rows }, (_, row) => row), x: "layer", xWords: (row) => report.maps.labels[row] || "",
    xTicks: (u, ticks) => ticks.map((row) => { const label = report.maps.labels[row] || ""; return label.length > 14 ? "…" + label.slice(-13) : label; }),
    xIncrements: [1, 2, 5, 10, 20, 50, 100],
    xRange: rows === 1 ? [-1, 1] : undefined,
    series: [{ label: "at the chosen step", values: now, points: true }, { label: "first", values: along(seen[0]) }, { label: "last", values: along(seen.at(-1)) }],
    height: 260,
  });
}

/** The last column in which a gradient was finite and above zero: what comes after it has no curve. */
function lastFinite() {
  const metric = report.maps.metrics.find((found) => found.name === "gradient");
  let column = report.maps.edges.length - 2;
  const any = () => report.maps.labels.some((_, row) => {
    const value = valueAt(metric, row, column);
    return value !== null && Number.isFinite(value);
  });
  while (column > 0 && !(metric.measured[column] && any())) column--;
  return column;
}

function cellUnder(event) {
  const box = byId("map-canvas").getBoundingClientRect(), columns = report.maps.edges.length - 1, rows = report.maps.labels.length;
  const column = Math.floor((event.clientX - box.left - map.labels) / map.width * columns);
  const row = Math.floor((event.clientY - box.top) / map.height * rows);
  return row < 0 || row >= rows || column >= columns ? null : [row, Math.max(0, column)];
}

if (report.maps) {
  const box = byId("map-box");
  byId("metric").addEventListener("change", (event) => chooseMetric(event.target.value));
  byId("layer").addEventListener("change", (event) => chooseLayer(Number(event.target.value)));
  box.addEventListener("pointermove", (event) => { const cell = cellUnder(event); if (cell) { map.cursor = cell; drawMap(); read(); } });
  box.addEventListener("click", (event) => { const cell = cellUnder(event); if (cell) { map.cursor = cell; read(); chooseLayer(cell[0]); } });
  box.addEventListener("keydown", (event) => {
    const columns = report.maps.edges.length - 1, rows = report.maps.labels.length;
    const [row, column] = map.cursor || [map.row, 0], far = event.shiftKey ? 10 : 1;
    const moved = { ArrowUp: [row - far, column], ArrowDown: [row + far, column], ArrowLeft: [row, column - far],
      ArrowRight: [row, column + far], Home: [row, 0], End: [row, columns - 1] }[event.key];
    if (event.key === "Enter" || event.key === " ") chooseLayer(row);
    else if (moved) { map.cursor = [Math.max(0, Math.min(rows - 1, moved[0])), Math.max(0, Math.min(columns - 1, moved[1]))]; drawMap(); read(); }
    else return;
    event.preventDefault();
  });
  const slider = byId("depth-step");
  if (slider) {
    slider.max = String(report.maps.edges.length - 2);
    slider.value = String(lastFinite());
    slider.addEventListener("input", drawDepth);
  }
  chooseMetric(report.maps.metrics[0].name);
  drawDepth();
  onChange(() => { drawMap(); legend(); drawLayer(); drawDepth(); });
}
