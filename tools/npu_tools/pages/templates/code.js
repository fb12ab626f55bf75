// The IR after each pass, what changed, and the C; both follow the chosen layer.
const code = { lines: [], steps: [], c: {}, step: 0, view: "changes", codeView: "all", around: 3 };

async function startCode() {
  const found = JSON.parse(await unpacked("ir-data"));
  Object.assign(code, { lines: found.lines, steps: found.steps, c: found.c || {} });
  code.steps.forEach((step, index) => { if (step.text === null) step.text = code.steps[index - 1].text; });
  $("steps").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) showStep(Number(button.dataset.step));
  });
  for (const button of document.querySelectorAll("[data-view]")) button.addEventListener("click", () => { code.view = button.dataset.view; showIr(); });
  for (const button of document.querySelectorAll("[data-code]")) button.addEventListener("click", () => { code.codeView = button.dataset.code; showCode(); });
  page.onChoose.push((id) => { code.view = code.codeView = "layer"; markSteps(id); showIr(); showCode(); });
  const first = code.steps.findIndex((step) => step.changes.length);
  showStep(first < 0 ? 0 : first);
  showCode();
}

function chosenName() {
  return page.chosen === null ? null : page.data.layers[page.chosen].name;
}

function rangesOf(part) {
  const name = chosenName(), layers = part.layers || {};
  return name !== null && Object.hasOwn(layers, name) ? layers[name] : [];
}

// Passes that leave the lines of the chosen layer alone are pale in the list.
function markSteps() {
  for (const button of $("steps").querySelectorAll("button")) {
    const step = code.steps[button.dataset.step], mine = rangesOf(step);
    const touched = step.changes.some(([, , start, end]) => mine.some(([first, last]) => first < end && start <= last));
    button.classList.toggle("idle", Number(button.dataset.step) > 0 && !touched);
  }
}

function showStep(index) {
  code.step = index;
  for (const button of $("steps").querySelectorAll("button")) button.classList.toggle("is-chosen", Number(button.dataset.step) === index);
  reveal($("steps"), $("steps").querySelector(".is-chosen"));
  if (code.view !== "layer") code.view = code.steps[index].changes.length ? code.view : "all";
  showIr();
}

function press(attribute, value, layer) {
  for (const button of document.querySelectorAll("[data-" + attribute + "]")) {
    button.setAttribute("aria-pressed", String(button.dataset[attribute] === value));
    if (button.dataset[attribute] === "layer") button.disabled = !layer;
  }
}

function showIr() {
  const step = code.steps[code.step], mine = rangesOf(step);
  const view = code.view === "layer" && chosenName() === null ? "changes" : code.view;
  $("ir-title").textContent = step.name;
  $("ir-layer").textContent = chosenName() === null ? "" : "Layer: " + chosenName();
  press("view", view, chosenName() !== null);
  let rows = changedRows(step);
  for (const row of rows) row.mine = row.kind !== "is-gone" && mine.some(([first, last]) => first <= row.at && row.at <= last);
  let message = "";
  if (view === "changes") {
    message = "This pass changed nothing.";
    rows = folded(rows, (row) => row.kind !== "");
  } else if (view === "layer") {
    message = "The layer has no lines of its own here.";
    rows = folded(rows, (row) => row.mine);
  }
  fill($("ir-text"), rows, message);
}

// The lines of a step with those that its pass has removed in between.
function changedRows(step) {
  const before = code.step ? code.steps[code.step - 1].text : [], rows = [];
  const add = (text, at, kind) => rows.push({ text: code.lines[text], at, kind });
  let at = 0;
  for (const [first, last, start, end] of [...step.changes, [0, 0, step.text.length, step.text.length]]) {
    for (; at < start; at++) add(step.text[at], at, "");
    for (let old = first; old < last; old++) add(before[old], old, "is-gone");
    for (; at < end; at++) add(step.text[at], at, "is-new");
  }
  return rows;
}

// Some rows with a few around them; the others become one row that can be opened.
function folded(rows, wanted) {
  const keep = new Uint8Array(rows.length), found = [];
  let any = false;
  rows.forEach((row, index) => {
    if (!wanted(row)) return;
    any = true;
    for (let near = Math.max(0, index - code.around); near <= Math.min(rows.length - 1, index + code.around); near++) keep[near] = 1;
  });
  if (!any) return [];
  for (let index = 0; index < rows.length; index++) {
    if (keep[index]) found.push(rows[index]);
    else if (found.length && found[found.length - 1].hidden) found[found.length - 1].hidden.push(rows[index]);
    else found.push({ hidden: [rows[index]] });
  }
  return found.flatMap((row) => (row.hidden && row.hidden.length === 1 ? row.hidden : [row]));
}

function fill(place, rows, message, most = 1500) {
  const made = document.createDocumentFragment();
  for (const row of rows.slice(0, most)) made.append(row.hidden ? opener(row.hidden) : lineOf(row));
  if (rows.length > most) made.append(opener(rows.slice(most), most));
  if (!rows.length) made.append(make("p", message, { class: "empty" }));
  place.replaceChildren(made);
  place.scrollTop = 0;
}

function lineOf(row) {
  const made = make("div", null, { "data-n": row.at + 1 });
  if (row.kind) made.classList.add(row.kind);
  if (row.mine) made.classList.add("is-mine");
  made.append(make("span", row.text));
  return made;
}

function opener(hidden) {
  const made = make("div", "\u2026 " + number(hidden.length) + " lines", { class: "skip", role: "button", tabindex: 0, "data-n": "" });
  const open = () => {
    const parts = hidden.slice(0, 1500).map((row) => (row.hidden ? opener(row.hidden) : lineOf(row)));
    if (hidden.length > 1500) parts.push(opener(hidden.slice(1500)));
    made.replaceWith(...parts);
  };
  made.addEventListener("click", open);
  made.addEventListener("keydown", (event) => { if (event.key === "Enter") open(); });
  return made;
}

function showCode() {
  if (!$("code-text")) return;
  const mine = rangesOf(code.c), view = code.codeView === "layer" && chosenName() === null ? "all" : code.codeView;
  $("code-title").textContent = code.c.name;
  $("code-layer").textContent = chosenName() === null ? "" : "Layer: " + chosenName();
  press("code", view, chosenName() !== null);
  const rows = code.c.text.split("\n").map((text, at) => ({ text, at, kind: "", mine: mine.some(([first, last]) => first <= at && at <= last) }));
  fill($("code-text"), view === "all" ? rows : folded(rows, (row) => row.mine), "The layer has no lines of its own in the C.");
}
