// The panel of one head: its numbers by category, over tasks and methods, and its neighbours of the same kind.
const panel = document.getElementById("head");
const panelBody = document.getElementById("head-body");
let openedBy = null;
const VERDICTS = { i: "in", s: "suppressing", u: "undecided", o: "out", "-": "not judged" };
const ALIKE = 6;

function showHead(layer, head) {
  if (!heads?.blocks.length || !exists(layer, head)) return;
  if (panel.hidden) openedBy = document.activeElement;
  document.getElementById("head-name").textContent = headName(layer, head);
  const parts = [kinds, sharing, byCategory, described, alike, byTask].flatMap((part) => part(layer, head));
  panelBody.replaceChildren(...parts);
  panel.hidden = false;
  panel.scrollTop = 0;
  panel.focus({ preventScroll: true });
  history.replaceState(null, "", `#${headName(layer, head)}`);
}

function closePanel() {
  panel.hidden = true;
}

function closeHead() {
  if (panel.hidden) return;
  closePanel();
  history.replaceState(null, "", location.pathname + location.search);
  if (openedBy?.isConnected) openedBy.focus({ preventScroll: true });
}

function flat(layer, head) {
  return layer * heads.grid[1] + head;
}

function verdictOf(category, layer, head) {
  return heads.verdicts[category][flat(layer, head)];
}

function setOf(layer, head) {
  return heads.categories.filter((_, place) => verdictOf(place, layer, head) === heads.in_letter).map(({ name }) => name);
}

// The other query heads that read the same keys and values.
function sharing(layer, head) {
  const keys = heads.kv_head?.[layer];
  if (!keys) return [];
  const others = keys.flatMap((number, other) => (number === keys[head] && other !== head ? [", ", headButton(layer, other)] : []));
  return others.length ? [element("p", {}, `Shares key-value head ${keys[head]} with `, ...others.slice(1), ".")] : [];
}

function kinds(layer, head) {
  if (!heads.categories.length) return [];
  const set = setOf(layer, head);
  return [element("p", {}, set.length ? `In ${set.join(", ")}.` : "In no category.")];
}

function table(caption, columns, rows) {
  const cell = (content, place, tag = "td") =>
    element(place ? tag : "th", place ? { class: columns[place].number ? "number" : "" } : { scope: "row" }, content);
  const head = element("tr", {}, ...columns.map(({ name, number }) => element("th", { scope: "col", class: number ? "number" : "" }, name)));
  const body = rows.map((row) => element("tr", {}, ...row.map((content, place) => cell(content, place))));
  const made = element("table", {}, element("caption", {}, caption), element("thead", {}, head), element("tbody", {}, ...body));
  return element("div", { class: "wide", tabindex: "0", role: "region", "aria-label": caption }, made);
}

function byCategory(layer, head) {
  const block = heads.blocks.find(({ what, fields }) => what === "category" && fields.includes("effect"));
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
  return [element("h3", {}, "What it does"), table("On random tokens that repeat once, and by its weights", columns, rows), ...missing];
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
    const passed = new Set(heads.tasks.flatMap((tasks) => (tasks[flat(layer, head)] ?? "").split(",")));
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

// Heads in exactly the same categories, those with the most similar effects over tasks first.
function alike(layer, head) {
  const block = heads.blocks.find(({ what, fields }) => what === "task" && fields.includes("effect"));
  if (!block || !heads.categories.length) return [];
  const set = JSON.stringify(setOf(layer, head));
  const others = [];
  for (let l = 0; l < heads.grid[0]; l++) {
    for (let h = 0; h < heads.per_layer[l]; h++) {
      if ((l !== layer || h !== head) && JSON.stringify(setOf(l, h)) === set) others.push([l, h, similarity(block, [layer, head], [l, h])]);
    }
  }
  const title = element("h3", {}, "Neighbours of the same kind");
  if (set === "[]") return [title, element("p", {}, `In no category, like ${others.length} others.`)];
  if (!others.length) return [title, element("p", {}, `No other ${heads.noun} is in exactly these categories.`)];
  others.sort((a, b) => b[2] - a[2]);
  const shown = others.slice(0, ALIKE).map(([l, h, value]) => element("span", {}, headButton(l, h), ` ${fixed(value, 2)} `));
  const rest = others.length > ALIKE ? ` and ${others.length - ALIKE} more` : "";
  return [title, element("p", {}, `Other ${heads.noun}s in exactly the same categories, with the similarity of their effects over tasks (cosine): `, ...shown, rest)];
}

function similarity(block, [l1, h1], [l2, h2]) {
  let both = 0, one = 0, other = 0;
  for (let row = 0; row < block.shape[0]; row++) {
    const a = block.numbers.effect[placeOf(block, row, l1, h1)], b = block.numbers.effect[placeOf(block, row, l2, h2)];
    if (Number.isNaN(a) || Number.isNaN(b)) continue;
    both += a * b;
    one += a * a;
    other += b * b;
  }
  return one && other ? both / Math.sqrt(one * other) : 0;
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
    if (asked) showHead(...asked);
  });
  document.getElementById("head-close").addEventListener("click", closeHead);
  document.addEventListener("keydown", ({ key }) => {
    if (key === "Escape") closeHead();
  });
  const find = document.getElementById("find");
  find.hidden = !heads.blocks.length; // a run that says nothing about heads has nothing to show of one
  find.addEventListener("submit", (event) => {
    event.preventDefault();
    const { value, placeholder: first } = document.getElementById("find-head");
    const wanted = named(value);
    const there = wanted && exists(...wanted);
    const none = `There is no such ${heads.noun}: layers 0 to ${heads.grid[0] - 1}, ${heads.noun}s 0 to ${heads.grid[1] - 1}.`;
    document.getElementById("find-said").textContent = there ? "" : wanted ? none : `Write a ${heads.noun} as ${first}.`;
    if (there) showHead(...wanted);
  });
  addEventListener("hashchange", showAddressed);
  showAddressed();
}

// The head that the address names; an address within the page closes the panel that would hide it.
function showAddressed() {
  const asked = named(location.hash.slice(1));
  if (asked) showHead(...asked);
  else if (location.hash.length > 1) closePanel();
}
