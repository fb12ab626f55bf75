// What all parts of the page share: unpacking, the chosen layer, the colours of the page.
const page = { data: null, chosen: null, onChoose: [] };
const $ = (id) => document.getElementById(id);
const escapes = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

function make(tag, text, marks = {}) {
  const made = document.createElement(tag);
  if (text !== undefined && text !== null) made.textContent = text;
  for (const [name, value] of Object.entries(marks)) made.setAttribute(name, value);
  return made;
}

// Plotly reads some tags in texts; a name of the model must not be one.
function plain(text) {
  return String(text).replace(/[&<>]/g, (letter) => escapes[letter]);
}

function shortened(text, most) {
  if (text.length <= most) return text;
  const tail = Math.floor((most * 2) / 3);
  return text.slice(0, most - tail - 1) + "\u2026" + text.slice(-tail);
}

function number(value) {
  return value === null || value === undefined ? "\u2013" : value.toLocaleString("en-US", { maximumFractionDigits: 3 });
}

async function unpacked(id) {
  const bytes = Uint8Array.from(atob($(id).textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

function choose(id, from) {
  if (id !== null && !page.data.layers[id]) return;
  page.chosen = id;
  for (const old of document.querySelectorAll(".is-chosen:not(.steps *)")) old.classList.remove("is-chosen");
  for (const each of [$("layer-" + id), $("node-" + id)]) if (each) each.classList.add("is-chosen");
  showChosen(id);
  for (const told of page.onChoose) told(id, from);
}

// Scrolls only inside of its box: the page itself stays where it is.
function reveal(box, each) {
  if (!box || !each) return;
  const outer = box.getBoundingClientRect(), inner = each.getBoundingClientRect();
  if (inner.top < outer.top + 40 || inner.bottom > outer.bottom) box.scrollTop += inner.top - outer.top - outer.height / 3;
  if (inner.left < outer.left || inner.right > outer.right) box.scrollLeft += inner.left - outer.left - outer.width / 3;
}

function showChosen(id) {
  const place = $("chosen");
  if (!place || id === null) return;
  const layer = page.data.layers[id];
  place.replaceChildren(make("h3", layer.name), make("p", layer.kind + ", " + layer.shape.join("\u00d7"), { class: "lead" }));
  const facts = make("dl");
  const rows = [
    ["module", layer.module], ["runs", layer.rows ? "row by row" : null], ["its map", layer.spilled ? "off chip" : null],
    ["MACs", layer.macs], ["input", layer.input_bytes], ["output", layer.output_bytes], ["weights", layer.weight_bytes],
    ["offset", layer.offset], ["tile", layer.tile ? layer.tile.join("\u00d7") : null], ["cycles", layer.cycles],
    ["waits", layer.cycles && page.data.traffic.length ? number((100 * layer.waits) / layer.cycles) + " %" : null], ["off chip", page.data.traffic.length ? layer.moved : null],
    ["instructions", layer.instructions],
  ];
  for (const [title, value] of rows) {
    if (value === null || value === undefined) continue;
    facts.append(make("dt", title), make("dd", typeof value === "number" ? number(value) : value));
  }
  const go = make("div", null, { class: "go" });
  for (const [text, target] of [["table", "#layer-" + id], ["IR", "#ir"], ["C", "#code"]]) {
    if (document.querySelector(target)) go.append(make("a", text, { href: target, "data-layer": id }));
  }
  place.append(facts, go);
}

function sortTable(button) {
  const table = $("layer-table"), key = button.dataset.key, layers = page.data.layers;
  const down = button.getAttribute("aria-sort") === "descending" || key === "id" ? 1 : -1;
  for (const other of table.querySelectorAll("[aria-sort]")) other.removeAttribute("aria-sort");
  button.setAttribute("aria-sort", down > 0 ? "ascending" : "descending");
  const rows = [...table.tBodies[0].rows];
  const value = (row) => layers[row.id.slice(6)][key] ?? -1;
  rows.sort((a, b) => (value(a) - value(b)) * down);
  table.tBodies[0].append(...rows);
}

// Makes the graph larger or smaller around the middle of what is seen, or as wide as its box.
function zoomGraph(by) {
  const box = document.querySelector(".graph"), svg = box.querySelector("svg"), whole = svg.viewBox.baseVal;
  const now = svg.getBoundingClientRect().width / whole.width;
  const next = by === "fit" ? Math.min(1, box.clientWidth / whole.width) : Math.min(2, Math.max(0.1, now * Number(by)));
  const middle = [(box.scrollLeft + box.clientWidth / 2) / now, (box.scrollTop + box.clientHeight / 2) / now];
  svg.style.width = whole.width * next + "px";
  svg.style.height = whole.height * next + "px";
  box.scrollTo(middle[0] * next - box.clientWidth / 2, middle[1] * next - box.clientHeight / 2);
}

function fromAddress() {
  const found = /^#layer-(\d+)$/.exec(location.hash);
  if (found) choose(Number(found[1]), "address");
}

async function start() {
  page.data = JSON.parse(await unpacked("data"));
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-layer]");
    if (link) choose(Number(link.dataset.layer), "link");
    const sort = event.target.closest("th button");
    if (sort) sortTable(sort);
    const zoom = event.target.closest("[data-zoom]");
    if (zoom) zoomGraph(zoom.dataset.zoom);
    const zero = event.target.closest("[data-zero]");
    if (zero) drawZeros(Number(zero.dataset.zero));
  });
  addEventListener("hashchange", fromAddress);
  page.onChoose.push((id, from) => {
    const graph = document.querySelector(".graph");
    reveal(graph, $("node-" + id));
    if (from !== "address") reveal($("layer-table").parentNode, $("layer-" + id));
  });
  await startCode();
  const script = make("script");
  script.textContent = await unpacked("plotly");
  document.head.append(script);
  await drawAll();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  const graph = document.querySelector(".graph");
  if (graph) graph.scrollLeft = (graph.scrollWidth - graph.clientWidth) / 2;
  fromAddress();
  document.documentElement.dataset.ready = "yes";
}
