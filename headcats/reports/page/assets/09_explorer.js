// Any method on any task or category: a map of the numbers of every head, and the ten largest.
const explorerPlot = document.getElementById("explorer-plot");
const TOP = 10, MOST_TICKS = 16;

function connectExplorer() {
  if (!explorerPlot) return;
  const blocks = document.getElementById("explorer-block"), rows = document.getElementById("explorer-row");
  heads.blocks.forEach((block, place) => blocks.append(element("option", { value: place }, `${block.label} by ${block.what}`)));
  const choose = () => {
    const block = heads.blocks[blocks.value];
    rows.replaceChildren();
    for (const group of new Set(block.groups)) {
      const names = block.names.map((name, place) => [name, place]).filter(([, place]) => block.groups[place] === group);
      const options = names.map(([name, place]) => element("option", { value: place }, name));
      if (block.what === "task") rows.append(element("optgroup", { label: group }, ...options));
      else rows.append(...options);
    }
    explore();
  };
  blocks.addEventListener("change", choose);
  rows.addEventListener("change", explore);
  explorerPlot.closest(".explorer").hidden = false;
  selectionListeners.push((changed) => {
    if (!changed.has("task")) return;
    chooseTask(rows);
    explore();
  });
  choose();
}

if (explorerPlot) makers.set(explorerPlot.closest("figure"), () => headsReady.then(explored));

// The row of the chosen task, where these numbers have it.
function chooseTask(rows) {
  const block = heads.blocks[document.getElementById("explorer-block").value], place = block.names.indexOf(selection.task);
  if (block.what === "task" && place >= 0) rows.value = String(place);
}

function chosenRow() {
  const [block, row] = ["explorer-block", "explorer-row"].map((id) => Number(document.getElementById(id).value));
  return [heads.blocks[block], row];
}

// Numbers of every head in a row, as a grid, and as a list of layer, head and number.
function numbersOf(block, row) {
  const [layers, perLayer] = heads.grid, field = mainField(block);
  const grid = [], listed = [];
  for (let head = 0; head < perLayer; head++) {
    grid.push([]);
    for (let layer = 0; layer < layers; layer++) {
      const value = block.numbers[field][placeOf(block, row, layer, head)];
      grid[head].push(Number.isNaN(value) ? null : value);
      if (!Number.isNaN(value)) listed.push([layer, head, value]);
    }
  }
  return { grid, listed };
}

function explore() {
  const [block, row] = chosenRow(), { listed } = numbersOf(block, row);
  drawAgain(explorerPlot.closest("figure"));
  listed.sort((a, b) => Math.abs(b[2]) - Math.abs(a[2]));
  const shown = listed.slice(0, TOP).map(([layer, head, value]) => element("span", {}, headButton(layer, head), ` ${fixed(value)} `));
  document.getElementById("explorer-top").replaceChildren(element("p", {}, `Largest (${block.unit}): `, ...shown));
}

// Plotly reads titles as HTML, and where MathJax is there as formulas.
function asPlotlyText(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll("$", "&#36;");
}

// An axis over whole numbers, some of which are written.
function numbered(n) {
  return { nticks: MOST_TICKS, tickmode: n > MOST_TICKS ? "auto" : "linear", tick0: 0, dtick: 1, showgrid: false, zeroline: false };
}

// Ends that stand for larger numbers too say so.
function barTicks(limit, largest, signed) {
  const beyond = largest > limit * 1.001, parts = signed ? [-1, -0.5, 0, 0.5, 1] : [0, 0.5, 1];
  const text = (part) => fixed(part * limit, limit < 0.1 ? 4 : 2);
  const ends = { 1: (text) => `${text}+`, [-1]: (text) => `≤ ${text}` };
  const ticktext = parts.map((part) => (beyond && ends[part] ? ends[part](text(part)) : text(part)));
  return { tickvals: parts.map((part) => part * limit), ticktext };
}

function explored() {
  const [block, row] = chosenRow(), { grid, listed } = numbersOf(block, row);
  const sizes = listed.map(([, , value]) => Math.abs(value));
  const [layers, perLayer] = heads.grid, style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  sizes.sort((a, b) => a - b);
  const limit = sizes[Math.floor(0.99 * (sizes.length - 1))] || sizes.at(-1) || 1;
  const { signed } = block;
  const cell = Math.max(7, Math.min(34, Math.floor(760 / layers), Math.floor(620 / perLayer)));
  const margin = { l: 52, r: 96, t: 34, b: 44 };
  const layout = {
    width: Math.max(300, cell * layers) + margin.l + margin.r,
    height: Math.max(90, cell * perLayer) + margin.t + margin.b,
    margin,
    paper_bgcolor: colour("--page"),
    plot_bgcolor: colour("--card"),
    font: { color: colour("--text"), family: "Arial, Helvetica, sans-serif", size: 12 },
    title: { text: asPlotlyText(`${block.label}: ${block.names[row]}`), x: 0.01, xanchor: "left", font: { size: 14 } },
    xaxis: { ...numbered(layers), title: { text: "layer" }, range: [-0.5, layers - 0.5] },
    yaxis: { ...numbered(perLayer), title: { text: "head" }, range: [perLayer - 0.5, -0.5] },
  };
  const trace = {
    type: "heatmap",
    z: grid,
    text: grid.map((values) => values.map((value) => fixed(value ?? NaN))),
    hovertemplate: `<b>L%{x}${heads.letter}%{y}</b><br>${mainField(block)} %{text}<extra></extra>`,
    hoverongaps: false,
    xgap: cell > 10 ? 1 : 0,
    ygap: cell > 10 ? 1 : 0,
    colorscale: heads.scales[signed ? "effect" : "score"],
    zmin: signed ? -limit : 0,
    zmax: limit,
    colorbar: { thickness: 12, outlinewidth: 0, title: { text: mainField(block) }, ...barTicks(limit, sizes.at(-1), signed) },
  };
  return { data: [trace], layout };
}
