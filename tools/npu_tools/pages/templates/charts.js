// The plots, by Plotly.
const roleColours = {
  light: { input: ["#7fb3d9"], output: ["#8cc79a"], state: ["#e0bf4f"], map: ["#f3bb7b", "#efa98c", "#e9c46f", "#d9b3a0"], scratch: ["#b9c0c8"] },
  dark: { input: ["#3f7fb0"], output: ["#458a58"], state: ["#a58a2c"], map: ["#a86c2c", "#a85a3f", "#94782a", "#8a6350"], scratch: ["#5d6975"] },
};
const roleNames = { map: "feature map", scratch: "tiles, scratch", input: "input", output: "output", state: "state" };
const settings = { responsive: true, displaylogo: false, displayModeBar: matchMedia("(hover: hover)").matches ? "hover" : false, scrollZoom: false, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"] };

function isDark() {
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

function narrow() {
  return document.documentElement.clientWidth < 700;
}

function frame(more) {
  const axis = { gridcolor: colour("line"), zerolinecolor: colour("line"), linecolor: colour("line"), automargin: true };
  const layout = {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: colour("soft"), size: 12, family: "inherit" },
    margin: { l: 64, r: 16, t: 30, b: 40 }, hoverlabel: { bgcolor: colour("card"), bordercolor: colour("line"), font: { color: colour("ink") }, align: "left" },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("soft"), activecolor: colour("accent") },
    legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom" }, dragmode: "zoom", ...more,
  };
  layout.xaxis = { ...axis, ...more.xaxis };
  layout.yaxis = { ...axis, ...more.yaxis };
  return layout;
}

function bytesText(size) {
  for (const [name, unit] of [["MiB", 2 ** 20], ["KiB", 2 ** 10]]) if (size >= 10 * 2 ** 10 && size >= unit) return (size / unit).toPrecision(4).replace(/\.?0+$/, "") + " " + name;
  return size + " B";
}

function byteTicks(top, most = 8) {
  let step = 1;
  while (top / step > most) step *= 2;
  const values = [];
  for (let at = 0; at <= top; at += step) values.push(at);
  return { tickvals: values, ticktext: values.map(bytesText) };
}

// -- memory ------------------------------------------------------------------------------------
function drawMemory(id, map) {
  const place = $(id);
  if (!place || !map) return;
  const fills = roleColours[isDark() ? "dark" : "light"], traces = [];
  for (const role of Object.keys(roleNames)) {
    const boxes = map.boxes.map((box, index) => ({ ...box, index })).filter((box) => box.role === role);
    if (!boxes.length) continue;
    traces.push({
      type: "bar", name: roleNames[role], x: boxes.map((b) => (b.first + b.last + 1) / 2), width: boxes.map((b) => b.last - b.first + 1),
      base: boxes.map((b) => b.offset), y: boxes.map((b) => b.size), customdata: boxes.map((b) => b.index),
      hovertext: boxes.map((b) => boxText(map, b)), hovertemplate: "%{hovertext}<extra></extra>",
      marker: { color: boxes.map((b, turn) => fills[role][turn % fills[role].length]), opacity: role === "map" ? 0.9 : 0.8, line: { color: colour("card"), width: 1 } },
    });
  }
  traces.push({ type: "scatter", mode: "text", x: [], y: [], text: [], hoverinfo: "skip", showlegend: false, textfont: { color: colour("ink"), size: 11 } });
  const top = Math.max(map.arena, map.sram && map.sram <= 1.6 * map.arena ? map.sram : 0) * 1.06;
  const layers = map.steps.map((_, index) => index).filter((index) => !/^(load|store) /.test(map.steps[index]));
  const named = layers.filter((index, at) => map.steps[index] !== map.steps[layers[at - 1]]);
  const every = Math.max(1, Math.ceil(named.length / (place.clientWidth / 22)));
  const shown = named.filter((_, place) => place % every === 0);
  const longest = Math.min(18, Math.max(...shown.map((index) => map.steps[index].length), 4));
  const layout = frame({
    barmode: "overlay", bargap: 0, hovermode: "closest", margin: { l: narrow() ? 60 : 74, r: narrow() ? 4 : 16, t: 34, b: 20 + 5 * longest },
    xaxis: { range: [0, map.steps.length], tickvals: shown.map((i) => i + 0.5), ticktext: shown.map((i) => plain(shortened(map.steps[i], 18))), tickangle: -60, tickfont: { size: 10 }, showgrid: false },
    yaxis: { range: [0, top], ...byteTicks(top) }, shapes: levels(map, top), annotations: levelNames(map, top),
  });
  Plotly.react(place, traces, layout, settings);
  fitLabels(place, map);
  if (place.dataset.live) return;
  place.dataset.live = "yes";
  place.on("plotly_click", (event) => showBox(map, map.boxes[event.points[0].customdata]));
  place.on("plotly_relayout", () => fitLabels(place, map));
  page.onChoose.push(() => Plotly.relayout(place, { shapes: levels(map, top) }));
}

// A name is written where its box has room for it at the present zoom: not over other names, nor
// where another box lies over its own.
function fitLabels(place, map) {
  const full = place._fullLayout, [x0, x1] = full.xaxis.range, [y0, y1] = full.yaxis.range;
  const wide = full.xaxis._length / (x1 - x0), high = full.yaxis._length / (y1 - y0);
  const taken = [], x = [], y = [], text = [];
  const area = (box) => ({ l: Math.max(x0, box.first) * wide, r: Math.min(x1, box.last + 1) * wide, b: Math.max(y0, box.offset) * high, t: Math.min(y1, box.offset + box.size) * high });
  const meet = (one, other) => one.l < other.r && other.l < one.r && one.b < other.t && other.b < one.t;
  for (const box of map.boxes) {
    const own = area(box), most = Math.floor((own.r - own.l - 8) / 6.4);
    if (own.t - own.b < 14 || most < Math.min(6, box.name.length)) continue;
    const others = [...taken, ...(box.shares || []).map((index) => area(map.boxes[index]))];
    const found = freePlace(box.name, most, own, (label) => others.some((other) => meet(label, other)));
    if (!found) continue;
    taken.push(found.label);
    x.push((found.label.l + found.label.r) / 2 / wide);
    y.push((found.label.b + found.label.t) / 2 / high);
    text.push(plain(found.name));
  }
  Plotly.restyle(place, { x: [x], y: [y], text: [text] }, [place.data.length - 1]);
}

// A place for a name inside a box that is not taken; the whole name first, then a shorter one.
function freePlace(whole, most, own, isTaken) {
  for (const letters of [most, Math.floor(most * 0.65), Math.floor(most * 0.45)]) {
    const name = shortened(whole, letters), half = name.length * 3.2;
    if (letters < Math.min(8, whole.length)) continue;
    for (const [right, up] of [[0.5, 0.5], [0.5, 0.8], [0.5, 0.2], [0.9, 0.5], [0.1, 0.5], [0.9, 0.9], [0.9, 0.1], [0.1, 0.9]]) {
      const cx = own.l + half + 4 + (own.r - own.l - 2 * half - 8) * right, cy = own.b + 7 + (own.t - own.b - 14) * up;
      const label = { l: cx - half, r: cx + half, b: cy - 7, t: cy + 7 };
      if (!isTaken(label)) return { name, label };
    }
  }
  return null;
}

// The steps of the chosen layer, as a band in the map.
function chosenBands(map) {
  const layer = page.chosen === null || map !== page.data.map ? null : page.data.layers[page.chosen];
  if (!layer) return [];
  const places = map.steps.map((step, index) => [step, index]).filter(([step]) => stepLayers(step).includes(layer.name)).map(([, index]) => index);
  if (!places.length) return [];
  return [{ type: "rect", x0: Math.min(...places), x1: Math.max(...places) + 1, y0: 0, y1: 1, yref: "paper", fillcolor: colour("accent"), opacity: 0.2, line: { width: 0 }, layer: "below" }];
}

// The layers that a step may be called after: "load conv1", "conv1 .. conv3", "conv1".
function stepLayers(step) {
  return [step, step.replace(/^(load|store) /, ""), ...step.split(" .. ")];
}

function levels(map, top) {
  const line = (y, name, dash) => ({ type: "line", x0: 0, x1: 1, xref: "paper", y0: y, y1: y, line: { color: colour(name), width: 1.4, dash } });
  const peak = { type: "rect", x0: map.peak, x1: map.peak + 1, y0: 0, y1: 1, yref: "paper", fillcolor: colour("warm"), opacity: 0.16, line: { width: 0 }, layer: "below" };
  const found = [peak, ...chosenBands(map), line(map.arena, "accent", "solid")];
  if (map.bound !== map.arena) found.push(line(map.bound, "soft", "dot"));
  if (map.sram && map.sram <= top) found.push(line(map.sram, "bad", "dash"));
  return found;
}

function levelNames(map, top) {
  const left = map.peak > 0.6 * map.steps.length;
  const name = (y, text, hue, up) => ({ x: left ? 0.004 : 0.996, xref: "paper", xanchor: left ? "left" : "right", y, yanchor: up ? "bottom" : "top", text, showarrow: false, font: { size: 11, color: colour(hue) } });
  const found = [name(map.arena, (map.bound === map.arena ? "arena = bound " : "arena ") + number(map.arena), "accent", !(map.sram && map.sram >= map.arena && map.sram < 1.08 * map.arena))];
  if (map.bound < 0.95 * map.arena) found.push(name(map.bound, "bound " + number(map.bound), "soft", false));
  if (map.sram && map.sram <= top) found.push(name(map.sram, "SRAM " + number(map.sram), "bad", true));
  found.push({ x: map.peak + 0.5, y: 1, yref: "paper", yanchor: "top", text: "peak", showarrow: false, font: { size: 11, color: colour("warm") } });
  return found;
}

function boxText(map, box) {
  const shares = (box.shares || []).map((index) => plain(shortened(map.boxes[index].name, 30)));
  const rows = [
    "<b>" + plain(shortened(box.name, 48)) + "</b>", plain(box.type), number(box.size) + " bytes at " + number(box.offset),
    plain(shortened(map.steps[box.first], 30)) + (box.last > box.first ? " to " + plain(shortened(map.steps[box.last], 30)) : "") + (box.last > box.first ? " (" + (box.last - box.first + 1) + " steps)" : ""),
  ];
  if (shares.length) rows.push("shares bytes with " + shares.slice(0, 4).join(", ") + (shares.length > 4 ? " and " + (shares.length - 4) + " more" : ""));
  return rows.join("<br>");
}

function showBox(map, box) {
  const place = $("box-facts");
  const live = map.boxes.filter((each) => each !== box && each.first <= box.last && box.first <= each.last);
  place.hidden = false;
  place.replaceChildren(make("b", box.name), make("p", box.type + ", " + number(box.size) + " bytes at " + number(box.offset) + " to " + number(box.offset + box.size - 1) + ", from " + map.steps[box.first] + " to " + map.steps[box.last]));
  const list = (found) => found.map((each) => each.name).join(", ");
  const shares = (box.shares || []).map((index) => map.boxes[index]);
  if (shares.length) place.append(make("p", "Shares bytes with " + list(shares) + ": one is read where the other is not filled yet."));
  place.append(make("p", live.length ? "Lives beside " + list(live.slice(0, 40)) + (live.length > 40 ? " and " + (live.length - 40) + " more" : "") + "." : "Lives alone."));
  const layer = stepLayers(map.steps[box.first]).map((name) => page.data.layers.find((each) => each.name === name)).find(Boolean);
  if (layer) choose(layer.id, "plot");
}

// -- time, roofline, traffic ---------------------------------------------------------------------
function drawTimeline() {
  const place = $("plot-time"), time = page.data.timeline;
  if (!place || !time) return;
  const hues = { work: colour("accent"), wait: colour("warm"), transfer: colour("good") };
  const titles = { work: "computing", wait: "waiting", transfer: "transfer" };
  const micro = time.hz ? 1e6 / time.hz : 1, unit = time.hz ? "\u00b5s" : "cycles";
  const traces = Object.keys(hues).map((kind) => {
    const bars = time.bars.filter((bar) => bar[1] === kind);
    // A bar that stands for many events is as high as the share of its time that they take.
    const high = bars.map((b) => Math.max(0.04, 0.72 * Math.min(1, b[7] / Math.max(1, b[4]))));
    const side = kind === "work" ? -1 : 1;
    return {
      type: "bar", orientation: "h", name: titles[kind], y: bars.map((b, place) => b[0] + side * (0.36 - high[place] / 2)), base: bars.map((b) => b[3] * micro), x: bars.map((b) => b[4] * micro),
      width: high, marker: { color: hues[kind], line: { width: 0 } }, customdata: bars.map((b) => b[2]),
      hovertext: bars.map((b) => "<b>" + (plain(b[2]) || titles[kind]) + "</b><br>" + titles[kind] + ", " + number(b[7]) + " cycles from " + number(b[3]) + (b[5] ? "<br>" + number(b[5]) + " bytes" : "") + (b[6] > 1 ? "<br>" + b[6] + " events in one bar" : "")),
      hovertemplate: "%{hovertext}<extra></extra>",
    };
  }).filter((trace) => trace.x.length);
  place.style.height = Math.max(190, 90 + 44 * time.rows.length) + "px";
  const names = narrow() ? time.rows.map((name) => name.replace("DMA channel", "DMA")) : time.rows;
  Plotly.react(place, traces, frame({
    barmode: "overlay", hovermode: "closest", bargap: 0, xaxis: { title: { text: unit, standoff: 4 }, range: [0, time.total * micro] },
    yaxis: { tickvals: names.map((_, index) => index), ticktext: names, autorange: "reversed", showgrid: false, fixedrange: true },
  }), settings);
  onClick(place, (point) => page.data.layers.find((layer) => layer.name === point.customdata));
}

function onClick(place, find) {
  if (place.dataset.live) return;
  place.dataset.live = "yes";
  place.on("plotly_click", (event) => {
    const layer = find(event.points[0]);
    if (layer) choose(layer.id, "plot");
  });
}

function drawRoof() {
  const place = $("plot-roof"), roof = page.data.roof;
  if (!place || !roof) return;
  const layers = page.data.layers.filter((layer) => layer.per_byte && layer.per_cycle);
  const ridge = roof.peak / roof.bandwidth, xs = layers.map((layer) => layer.per_byte);
  const low = Math.min(ridge, ...xs) / 3, high = Math.max(ridge, ...xs) * 3;
  const most = Math.max(...layers.map((layer) => layer.macs), 1), waiting = layers.some((layer) => layer.waits);
  const traces = [
    { type: "scatter", mode: "lines", name: "roof", x: [low, ridge, high], y: [low * roof.bandwidth, roof.peak, roof.peak], line: { color: colour("soft"), width: 2 }, hoverinfo: "skip" },
    {
      type: "scatter", mode: "markers", name: "layer, by MACs", x: xs, y: layers.map((layer) => layer.per_cycle), customdata: layers.map((layer) => layer.id),
      marker: { color: layers.map((layer) => layer.waits / layer.cycles), cmin: 0, cmax: 1, colorscale: [[0, colour("accent")], [1, colour("warm")]], showscale: waiting, size: layers.map((layer) => 7 + 15 * Math.sqrt(layer.macs / most)), opacity: 0.82, line: { color: colour("card"), width: 1 }, colorbar: { title: { text: "waits", side: "right" }, tickformat: ".0%", thickness: 10, len: 0.8 } },
      hovertext: layers.map((layer) => "<b>" + plain(layer.name) + "</b><br>" + number(layer.per_byte) + " operations a byte<br>" + number(layer.per_cycle) + " operations a cycle<br>waits " + number((100 * layer.waits) / layer.cycles) + " %"),
      hovertemplate: "%{hovertext}<extra></extra>",
    },
  ];
  const log = (title) => ({ type: "log", title: { text: title, standoff: 6 }, exponentformat: "power", dtick: 1 });
  Plotly.react(place, traces, frame({ showlegend: false, hovermode: "closest", xaxis: log("operations for each byte " + roof.where), yaxis: log("operations in a cycle") }), settings);
  onClick(place, (point) => page.data.layers[point.customdata]);
}

function drawTraffic() {
  const place = $("plot-traffic"), rows = page.data.traffic;
  if (!place || !rows.length) return;
  const names = rows.map((row) => row.name).reverse();
  const parts = [["weight_bytes", "weights", "soft"], ["feature_map_read_bytes", "maps read", "accent"], ["feature_map_write_bytes", "maps written", "warm"]];
  const traces = parts.map(([key, name, hue]) => ({
    type: "bar", orientation: "h", name, y: names, x: rows.map((row) => row[key]).reverse(), marker: { color: colour(hue) },
    hovertext: rows.map((row) => number(row[key]) + " bytes, " + name).reverse(), hovertemplate: "%{hovertext}<extra></extra>",
  }));
  const top = Math.max(...rows.map((row) => row.all));
  Plotly.react(place, traces, frame({ barmode: "stack", hovermode: "closest", bargap: 0.35, xaxis: { range: [0, top * 1.02], ...byteTicks(top, narrow() ? 3 : 8), tickangle: 0 }, yaxis: { fixedrange: true } }), settings);
}

function drawZeros(index) {
  const place = $("plot-zeros"), zeros = page.data.zeros;
  if (!place || !zeros.length) return;
  const map = zeros[index], rows = map.grid.length, columns = map.grid[0].length;
  for (const button of $("zero-list").querySelectorAll("button")) button.classList.toggle("is-chosen", Number(button.dataset.zero) === index);
  const heat = { type: "heatmap", z: map.grid, zmin: 0, zmax: 100, xgap: 1, ygap: 1, colorscale: [[0, colour("warm")], [1, colour("faint")]], colorbar: { title: { text: "% zero", side: "right" }, thickness: 10, len: 0.8 }, hovertemplate: "block row %{y}, column %{x}<br>zero in %{z} % of the channels<extra></extra>" };
  const axis = { showgrid: false, zeroline: false, dtick: Math.max(1, Math.ceil(Math.max(rows, columns) / 12)) };
  const title = { text: plain(shortened(map.layer, narrow() ? 30 : 60)), font: { size: 13, color: colour("ink") }, x: 0.02, y: 0.98 };
  Plotly.react(place, [heat], frame({ title, hovermode: "closest", xaxis: { ...axis, constrain: "domain" }, yaxis: { ...axis, autorange: "reversed", scaleanchor: "x", constrain: "domain" } }), settings);
}

// One plot after the other, so that the page answers in between.
async function drawAll() {
  const memory = () => drawMemory("plot-memory", page.data.map);
  const other = () => drawMemory("plot-memory-other", page.data.against);
  const zeros = () => drawZeros(Number(document.querySelector("#zero-list .is-chosen")?.dataset.zero ?? 0));
  for (const draw of [memory, other, drawTraffic, drawRoof, drawTimeline, zeros]) {
    draw();
    await new Promise((next) => setTimeout(next));
  }
}
