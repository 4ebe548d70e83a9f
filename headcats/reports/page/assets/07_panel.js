// The panel of one head: its verdicts, its effect on every task by every method, and its numbers.
const panel = document.getElementById("head");
const panelBody = document.getElementById("head-body");
let openedBy = null;
const VERDICTS = { i: "in", s: "suppressing", u: "undecided", o: "out", "-": "not judged" };

function showHead(layer, head) {
  if (panel.hidden) openedBy = document.activeElement;
  document.getElementById("head-name").textContent = headName(layer, head);
  const plot = plotOf(layer, head);
  panelBody.replaceChildren(
    ...verdictLines(layer, head),
    ...sharing(layer, head),
    ...attentionThumbnails(layer, head),
    ...(plot ? [element("h3", {}, "On every task"), element("div", { class: "wide", tabindex: "0", role: "group", "aria-label": "Effect on every task, by method" }, aroundPanelPlot)] : []),
    allNumbers(layer, head),
  );
  const wasHidden = panel.hidden;
  panel.hidden = false;
  document.body.classList.add("beside");
  panel.scrollTop = 0;
  if (wasHidden) panel.focus({ preventScroll: true });
  if (plot) drawPanelPlot(layer, head);
  if (wasHidden) requestAnimationFrame(() => setTimeout(fitAll));
}

// Tables that few look at are made when they are unfolded; they stay so for the next head.
function allNumbers(layer, head) {
  const wasOpen = panelBody.querySelector("details")?.open;
  const folded = element("details", {}, element("summary", {}, "All numbers"));
  const unfold = () => folded.append(...[byCategory, described, byTask].flatMap((part) => part(layer, head)));
  if (wasOpen) {
    unfold();
    folded.open = true;
  } else folded.addEventListener("toggle", unfold, { once: true });
  return folded;
}

function closeHead() {
  if (panel.hidden) return;
  panel.hidden = true;
  document.body.classList.remove("beside");
  fitAll();
  if (openedBy?.isConnected) openedBy.focus({ preventScroll: true });
}

// The mapped effects by category, as the map that is shown has them.
function blockOfMap(map) {
  return heads.blocks.find(({ what, label }) => what === "category" && label === heads.maps[map]?.name);
}

// The head before or behind the chosen one, over the whole model.
function neighbour(step) {
  const all = heads.per_layer.flatMap((n, layer) => Array.from({ length: n }, (_, head) => headName(layer, head)));
  const place = all.indexOf(selection.head);
  if (place >= 0) select({ head: all[(place + step + all.length) % all.length] });
}

// Tab stays within the panel; Escape leaves it.
function keepFocus(event) {
  const inside = [...panel.querySelectorAll("button, a, summary, [tabindex='0']")].filter((each) => each.checkVisibility());
  const [first, last] = [inside[0], inside.at(-1)];
  if (event.shiftKey && (document.activeElement === first || document.activeElement === panel)) last.focus();
  else if (!event.shiftKey && document.activeElement === last) first.focus();
  else return;
  event.preventDefault();
}

function gridPlace(layer, head) {
  return layer * heads.grid[1] + head;
}

function verdictOf(category, layer, head, map = shownMap()) {
  return heads.maps[map].verdicts[category][gridPlace(layer, head)];
}

function setOf(layer, head, map = shownMap()) {
  return heads.categories.filter((_, place) => verdictOf(place, layer, head, map) === heads.in_letter).map(({ name }) => name);
}

// The other query heads that read the same keys and values.
function sharing(layer, head) {
  const keys = heads.kv_head?.[layer];
  if (!keys) return [];
  const others = keys.flatMap((number, other) => (number === keys[head] && other !== head ? [", ", headButton(layer, other)] : []));
  return others.length ? [element("p", {}, `Shares key-value head ${keys[head]} with `, ...others.slice(1), ".")] : [];
}

// By the map that is shown first, then by the others.
function verdictLines(layer, head) {
  if (!heads.categories.length) return [];
  const order = [shownMap(), ...heads.maps.keys()].filter((map, place, all) => all.indexOf(map) === place);
  const lines = order.map((map) => {
    const set = setOf(layer, head, map);
    const undecided = heads.categories.filter((_, place) => verdictOf(place, layer, head, map) === "u").map(({ name }) => name);
    const more = undecided.length ? `; undecided in ${undecided.join(", ")}` : "";
    return element("li", {}, element("strong", {}, `${heads.maps[map].name}: `), `${set.length ? set.join(", ") : "no category"}${more}`);
  });
  return [element("ul", { class: "verdicts" }, ...lines)];
}

function table(caption, columns, rows) {
  const cell = (content, place, tag = "td") =>
    element(place ? tag : "th", place ? { class: columns[place].number ? "number" : "" } : { scope: "row" }, content);
  const head = element("tr", {}, ...columns.map(({ name, number }) => element("th", { scope: "col", class: number ? "number" : "" }, name)));
  const body = rows.map((row) => element("tr", {}, ...row.map((content, place) => cell(content, place))));
  const made = element("table", {}, element("caption", {}, caption), element("thead", {}, head), element("tbody", {}, ...body));
  return element("div", { class: "wide", tabindex: "0", role: "group", "aria-label": caption }, made);
}

function byCategory(layer, head) {
  const block = blockOfMap(shownMap());
  if (!block) return [];
  const rows = block.names.map((name, row) => {
    const at = placeOf(block, row, layer, head);
    const place = heads.categories.findIndex((category) => category.name === name);
    const swatch = element("span", { class: "swatch", style: `background: ${heads.categories[place].colour}` });
    const label = element("span", {}, swatch, name);
    const letter = verdictOf(place, layer, head);
    const q = asQ(block.numbers.q_value[at]);
    return [label, fixed(block.numbers.effect[at]), between(block, at), q, VERDICTS[letter]];
  });
  const names = ["category", "effect", "95 % interval", "q", "verdict"];
  const columns = names.map((name, place) => ({ name, number: place > 0 && place < 4 }));
  return [element("h3", {}, "By category"), table(`${block.label}, reduced over tasks as the rule does`, columns, rows)];
}

// What the head does, whatever the task.
function described(layer, head) {
  const blocks = heads.blocks.filter(({ what }) => what === "descriptor");
  if (!blocks.length) return [];
  const rows = blocks.flatMap((block) =>
    block.names.map((name, row) => [name, fixed(block.numbers.score[placeOf(block, row, layer, head)]), block.unit]),
  );
  const columns = [{ name: "descriptor" }, { name: "value", number: true }, { name: "unit" }];
  const missing = heads.missing.map((reason) => element("p", { class: "quiet" }, reason));
  const roles = (heads.roles[`L${layer}H${head}`] ?? []).map((text) => element("p", {}, `${text}.`));
  return [element("h3", {}, "What it does"), ...roles, table("On random tokens that repeat once, and by its weights", columns, rows), ...missing];
}

function between(block, at) {
  return Number.isNaN(block.numbers.low[at]) ? "–" : `${fixed(block.numbers.low[at])} to ${fixed(block.numbers.high[at])}`;
}

function byTask(layer, head) {
  const parts = [];
  const isScore = ({ fields }) => fields.includes("score");
  const ofTasks = heads.blocks.filter(({ what }) => what === "task").sort((a, b) => isScore(a) - isScore(b));
  if (ofTasks.length) {
    const names = [...new Set(ofTasks.flatMap((block) => block.names))];
    const passed = new Set((shownMap() ? [] : heads.tasks).flatMap((tasks) => (tasks[gridPlace(layer, head)] ?? "").split(",")));
    const rows = names.map((name) => [
      passed.has(name) ? `${name} ✓` : name,
      ...ofTasks.map((block) => {
        const row = block.names.indexOf(name);
        if (row < 0) return "–";
        const at = placeOf(block, row, layer, head);
        if (isScore(block)) return fixed(block.numbers.score[at]);
        if (Number.isNaN(block.numbers.effect[at])) return "–";
        const more = `${between(block, at)}, q ${asQ(block.numbers.q_value[at])}`;
        return element("span", {}, fixed(block.numbers.effect[at]), element("br"), element("small", { class: "quiet" }, more));
      }),
    ]);
    const titles = ofTasks.map((block) => (isScore(block) ? `${block.label}, in ${block.unit}` : block.label));
    const columns = [{ name: "task" }, ...titles.map((name) => ({ name, number: true }))];
    const caption = `Effect on each task, with its 95 % interval and q; ✓ where the ${heads.noun} passes for its category on the map`;
    parts.push(element("h3", {}, "Over tasks and methods"), table(caption, columns, rows));
  }
  for (const block of heads.blocks.filter((block) => isScore(block) && !["task", "descriptor"].includes(block.what))) {
    const rows = block.names.map((name, row) => [name, fixed(block.numbers.score[placeOf(block, row, layer, head)])]);
    parts.push(table(`${block.label}: ${block.unit}`, [{ name: block.what }, { name: "score", number: true }], rows));
  }
  if (heads.left_out.length) parts.push(element("p", { class: "quiet" }, `Not in this file, to keep it small: ${heads.left_out.join(", ")}.`));
  return parts;
}

// Layer and number of what is named; a head is no group, whatever its number.
function named(text) {
  const match = new RegExp(`^\\s*L?(\\d+)\\s*[${heads.letter}.,\\s]\\s*(\\d+)\\s*$`, "i").exec(text);
  return match ? [Number(match[1]), Number(match[2])] : null;
}

function connectHeads() {
  document.addEventListener("click", ({ target }) => {
    const button = target.closest("[data-head]");
    const asked = button && named(button.dataset.head);
    if (asked) select({ head: headName(...asked) });
  });
  document.getElementById("head-close").addEventListener("click", () => select({ head: "" }));
  document.getElementById("head-before").addEventListener("click", () => neighbour(-1));
  document.getElementById("head-after").addEventListener("click", () => neighbour(1));
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, select, textarea");
    if (event.key === "/" && !typing) {
      event.preventDefault();
      document.getElementById("find-text").focus();
    }
    if (panel.hidden || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Escape") select({ head: "" });
    else if (event.key === "ArrowLeft" && !typing) neighbour(-1);
    else if (event.key === "ArrowRight" && !typing) neighbour(1);
    else if (event.key === "Tab" && panel.contains(document.activeElement)) keepFocus(event);
  });
  selectionListeners.push((changed) => {
    if (!["head", "task", "map", "category"].some((key) => changed.has(key))) return;
    const asked = selection.head && named(selection.head);
    if (asked && exists(...asked) && heads.blocks.length) showHead(...asked);
    else closeHead();
  });
  // The plot of the panel is drawn in the colours of the page.
  themeListeners.push(() => {
    const asked = !panel.hidden && named(selection.head ?? "");
    if (asked) drawPanelPlot(...asked);
  });
  connectFind();
}

// A head, a task or a category by its name.
function connectFind() {
  const input = document.getElementById("find-text"), said = document.getElementById("find-said");
  const tasks = [...new Set(heads.blocks.filter(({ what }) => what === "task").flatMap(({ names }) => names))];
  const categories = heads.categories.map(({ name }) => name);
  document.getElementById("find-names").append(...[...categories, ...tasks].map((value) => element("option", { value })));
  document.getElementById("find").hidden = !heads.blocks.length; // a run that says nothing about heads
  document.getElementById("find").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = input.value.trim(), head = named(text), alike = (name) => name.toLowerCase() === text.toLowerCase();
    const task = tasks.find(alike), category = categories.find(alike);
    said.textContent = "";
    if (head && exists(...head)) select({ head: headName(...head) });
    else if (task) select({ task });
    else if (category) select({ category });
    else said.textContent = head ? `There is no such ${heads.noun}: layers 0 to ${heads.grid[0] - 1}, ${heads.noun}s 0 to ${heads.grid[1] - 1}.` : "Nothing has that name.";
  });
}
