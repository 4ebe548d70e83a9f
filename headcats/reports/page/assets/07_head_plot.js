// The plot of the panel: effects of one head on every task, a symbol per method.
const panelPlot = element("div", { class: "plot" });
const aroundPanelPlot = element("div", { class: "around" }, panelPlot);
const SYMBOLS = ["circle", "square-open", "diamond", "cross-thin-open", "triangle-up"];

// A dot with its interval for every task and method, tasks under their categories, the mapped method on top.
function plotOf(layer, head) {
  const blocks = heads.blocks.filter(({ what, fields }) => what === "task" && fields.includes("effect"));
  if (!blocks.length) return null;
  const style = getComputedStyle(document.documentElement), ink = (name) => style.getPropertyValue(name).trim();
  const groups = [...new Set(blocks[0].groups)];
  const rows = groups.flatMap((group) => [{ group }, ...blocks[0].names.filter((_, place) => blocks[0].groups[place] === group).map((name) => ({ group, name }))]);
  const places = new Map(rows.map(({ name }, place) => [name, place]).filter(([name]) => name));
  const step = 14, height = rows.length * step + 74;
  const data = blocks.map((block, number) => {
    const points = block.names.map((name, row) => [name, placeOf(block, row, layer, head)]).filter(([name, at]) => places.has(name) && !Number.isNaN(block.numbers.effect[at]));
    const of = (field) => points.map(([, at]) => block.numbers[field][at]);
    const effect = of("effect"), shift = ((number - (blocks.length - 1) / 2) * 4) / step;
    return {
      type: "scatter", mode: "markers", name: block.label, x: effect, y: points.map(([name]) => places.get(name) + shift), customdata: points.map(([name, at]) => [name, fixed(block.numbers.effect[at]), between(block, at)]),
      error_x: { type: "data", symmetric: false, array: of("high").map((high, i) => high - effect[i]), arrayminus: of("low").map((low, i) => effect[i] - low), width: 0, thickness: 1, color: ink(number ? "--quiet" : "--text") },
      marker: { symbol: SYMBOLS[number % SYMBOLS.length], size: 7, color: ink(number ? "--quiet" : "--text") },
      hovertemplate: "%{customdata[0]}: %{customdata[1]} [%{customdata[2]}]<extra>%{fullData.name}</extra>",
    };
  });
  const colours = new Map(heads.categories.map(({ name, colour }) => [name, colour]));
  const shapes = groups.map((group) => {
    const of = rows.map((row, place) => (row.group === group ? place : -1)).filter((place) => place >= 0);
    return { type: "rect", xref: "paper", x0: -0.012, x1: -0.004, y0: of[0] - 0.4, y1: of.at(-1) + 0.4, fillcolor: colours.get(group) ?? ink("--quiet"), line: { width: 0 } };
  });
  const chosen = places.get(selection.task);
  if (chosen !== undefined) shapes.push({ type: "rect", xref: "paper", x0: 0, x1: 1, y0: chosen - 0.5, y1: chosen + 0.5, line: { color: ink("--strong"), width: 2 } });
  const layout = {
    width: 460, height, margin: { l: 150, r: 12, t: 30, b: 44 }, shapes, showlegend: blocks.length > 1,
    legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom", itemclick: false, itemdoubleclick: false },
    paper_bgcolor: ink("--page"), plot_bgcolor: ink("--page"), font: { color: ink("--text"), family: "Arial, Helvetica, sans-serif", size: 11 },
    xaxis: { title: { text: "effect, in shares of the gap", standoff: 4 }, zeroline: true, zerolinecolor: ink("--quiet"), gridcolor: ink("--line"), nticks: 6, ticklabeloverflow: "allow" },
    yaxis: { range: [rows.length - 0.5, -0.5], tickvals: rows.map((_, place) => place), ticktext: rows.map(({ name, group }) => (name ? asPlotlyText(name) : `<b>${asPlotlyText(group)}</b>`)), showgrid: true, gridcolor: ink("--line"), zeroline: false, ticklabelstandoff: 12, ticklabeloverflow: "allow" },
  };
  return { data, layout };
}

function drawPanelPlot(layer, head) {
  const plot = plotOf(layer, head);
  if (plot) plotlyReady.then(() => Plotly.react(panelPlot, plot.data, plot.layout, CONFIG)).then(connectPanelPlot).then(() => panel.hidden || fit(panelPlot));
}

// The first plot of its kind takes Plotly twice as long as the next: so it is not the one that a reader waits for.
function rehearsePanelPlot() {
  if (heads?.blocks.length && panel.hidden) drawPanelPlot(0, 0);
}

function connectPanelPlot() {
  if (panelPlot.isConnectedOnce) return;
  panelPlot.isConnectedOnce = true;
  panelPlot.on("plotly_click", ({ points: [point] }) => select({ task: point.customdata[0] }));
}

// Plotly reads titles as HTML, and where MathJax is there as formulas.
function asPlotlyText(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll("$", "&#36;");
}
