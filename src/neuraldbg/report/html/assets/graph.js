// The causal graph: a box that is chosen shows its evidence, and its place on the map of the layers.
function columnOf(step) {
  const edges = report.maps.edges;
  let column = 0;
  while (column < edges.length - 2 && edges[column + 1] <= step) column++;
  return column;
}

function lines(tag, texts) {
  const list = document.createElement(tag);
  list.append(...texts.map((text) => { const item = document.createElement("li"); item.textContent = text; return item; }));
  return list;
}

function chooseNode(element) {
  for (const other of document.querySelectorAll(".node")) other.setAttribute("aria-pressed", String(other === element));
  const node = report.nodes[element.dataset.node], panel = byId("evidence"), title = document.createElement("b");
  title.textContent = node.title;
  const place = document.createElement("p");
  const where = node.place === null ? "" : "at " + (node.place || "the model") + ", ";
  place.textContent = where + node.detail;
  panel.replaceChildren(title, place);
  if (node.sentences.length) panel.append(lines("ul", node.sentences));
  if (node.numbers.length) panel.append(lines("ul", node.numbers.map(([name, value]) => name + ": " + value)));
  if (!report.maps) return;
  map.marked = null;
  if (node.row !== null && node.steps) {
    map.marked = { row: node.row, first: columnOf(node.steps[0]), last: columnOf(node.steps[1]) };
    const link = document.createElement("a");
    link.href = "#map";
    link.textContent = "Marked on the map of the layers: " + report.maps.labels[node.row];
    panel.append(link);
    map.cursor = [node.row, map.marked.first];
    read();
    chooseLayer(node.row);
  } else drawMap();
}

for (const element of document.querySelectorAll(".node")) {
  element.setAttribute("aria-pressed", "false");
  element.addEventListener("click", () => chooseNode(element));
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    chooseNode(element);
  });
}
document.documentElement.dataset.ready = "yes";
