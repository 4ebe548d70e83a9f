// Figures are drawn when they come near the window, and the rest when there is nothing else to do.
const LEAST = 0.75; // below this their texts cannot be read: the figure then scrolls sideways
const LEAST_MAP = 0.65, ONE_COLUMN = 760; // pixels, as in report.css
const PAPER = { width: 680, height: 940, least: 0.5 }; // A4 and Letter within their margins; paper does not scroll
// The page has buttons of its own; a double click undoes a zoom.
const CONFIG = { displayModeBar: false, doubleClick: "reset" };
const drawnFigures = new Map();
let onPaper = false;

// Everything in a figure has its place in pixels, so a narrow window shows all of it smaller. By a transform, through
// which Plotly still finds the head below the pointer; the element around it is made as small as what it then shows.
function fit(plot) {
  const { width, height } = plot.layout;
  const scale = onPaper ? paperScale(width, height) : screenScale(plot.parentElement, width, height);
  plot.style.transform = scale < 1 ? `scale(${scale})` : "";
  plot.style.width = `${width}px`;
  const around = plot.parentElement;
  around.style.width = `${Math.floor(scale * width)}px`;
  around.style.height = `${Math.ceil(scale * height)}px`;
}

// The large map is seen whole when the page opens, as far as the names in it can then be read.
function screenScale(around, width, height) {
  const across = Math.max(LEAST, (around.closest(".wide").clientWidth || width) / width);
  if (!around.closest(".hero") || document.getElementById("answer").clientWidth <= ONE_COLUMN) return Math.min(1, across);
  const room = innerHeight - (around.getBoundingClientRect().top + scrollY);
  return Math.min(1, across, Math.max(LEAST_MAP, room / height));
}

// The whole width always; the whole height as well, unless that leaves nothing to read.
function paperScale(width, height) {
  const across = PAPER.width / width;
  return Math.min(1, across, Math.max(Math.min(across, PAPER.least), PAPER.height / height));
}

function fitAll() {
  for (const plot of document.querySelectorAll(".plot.js-plotly-plot")) if (plot.offsetParent) fit(plot);
}

async function draw(figure) {
  try {
    await drawn(figure);
  } catch (problem) {
    failed(figure, problem);
  }
}

async function drawn(figure) {
  await plotlyReady;
  const plot = figure.querySelector(".plot");
  const isNew = !drawnFigures.has(figure);
  if (isNew) drawnFigures.set(figure, unpackedJson(`figure-${figure.dataset.figure}`));
  const content = coloured(await drawnFigures.get(figure));
  if (figure.visibleTraces) content.data.forEach((trace, place) => (trace.visible = figure.visibleTraces[place] ?? true));
  content.layout.shapes = marksOf(figure, content.layout);
  if (isNew) plot.replaceChildren();
  await Plotly.react(plot, content.data, content.layout, CONFIG);
  if (isNew) connectFigure(figure, plot);
  fit(plot);
}

function connectFigure(figure, plot) {
  const order = figure.dataset.heads;
  if (order) {
    plot.on("plotly_click", ({ points: [point] }) => {
      Plotly.Fx.unhover(plot); // after a tap it would stay
      if (order === "head-task") select({ head: point.y, task: point.x });
      else select({ head: headName(Number(point.x), Number(point.y)) });
    });
  }
  if (figure.dataset.figure.startsWith("hero_")) connectPointer(figure, plot);
  plot.on("plotly_relayout", () => {
    const update = wholeNumbers(plot.layout);
    if (update) Plotly.relayout(plot, update);
  });
}

// Rectangles around the chosen head, and the chosen task, in every plot of a figure.
function marksOf(figure, layout) {
  const order = figure.dataset.heads, { head, task } = selection;
  if (!order || !heads) return [];
  const line = { color: coloured("rgb(0, 0, 0)"), width: 3 };
  const box = (axis, x, y) => ({ type: "rect", xref: `x${axis}`, yref: `y${axis}`, x0: x[0], x1: x[1], y0: y[0], y1: y[1], line });
  const marks = [];
  for (const name of Object.keys(layout).filter((key) => key.startsWith("xaxis"))) {
    const axis = name.slice(5), across = layout[name], down = layout[`yaxis${axis}`];
    if (order === "head-task") {
      const row = (down.ticktext ?? []).indexOf(head), column = (across.ticktext ?? []).indexOf(task);
      if (row >= 0) marks.push(box(axis, across.range, [row - 0.5, row + 0.5]));
      if (column >= 0) marks.push(box(axis, [column - 0.5, column + 0.5], down.range));
    } else {
      const chosen = head && named(head);
      if (chosen) marks.push(box(axis, ...chosen.map((place) => [place - 0.5, place + 0.5])));
    }
  }
  return marks;
}

function markAll() {
  for (const figure of drawnFigures.keys()) {
    const plot = figure.dataset.heads && figure.querySelector(".plot.js-plotly-plot");
    if (plot && plot.offsetParent) Plotly.relayout(plot, { shapes: marksOf(figure, plot.layout) });
    else if (plot) figure.isUnmarked = true; // behind a tab: marked when it is seen
  }
}

function failed(figure, problem) {
  const why = "DecompressionStream" in window ? String(problem) : "It needs a browser of 2023 or later.";
  figure.querySelector(".plot").replaceChildren(element("p", { class: "note" }, `This figure could not be drawn. ${why}`));
}

const waiting = new Set(document.querySelectorAll("figure[data-figure]"));
for (const figure of waiting) {
  const plot = figure.querySelector(".plot");
  const around = element("div", { class: "around" });
  plot.replaceWith(around);
  around.append(plot);
  figure.append(toolsOf(figure));
}
reserveRoom();

// As much room as figures of known size will take, so that nothing below them moves. All is measured before anything is
// changed, as the browser lays the page out again after each change.
function reserveRoom() {
  const heights = [...waiting].map((figure) => {
    const [wide, high] = ["--wide", "--high"].map((name) => Number(figure.style.getPropertyValue(name)));
    const around = figure.querySelector(".around");
    return [around, wide && Math.ceil(screenScale(around, wide, high) * high)];
  });
  for (const [around, height] of heights) if (height) around.style.height = `${height}px`;
}

// Below every figure: pictures of it.
function toolsOf(figure) {
  const picture = (format) => {
    const button = element("button", { type: "button" }, format.toUpperCase());
    button.addEventListener("click", () => savePicture(figure, format));
    return button;
  };
  return element("p", { class: "figure-tools" }, picture("png"), picture("svg"));
}

async function savePicture(figure, format) {
  await drawNow(figure);
  const plot = figure.querySelector(".plot"), { width, height } = plot.layout;
  await Plotly.downloadImage(plot, { format, width, height, scale: format === "png" ? 2 : 1, filename: figure.dataset.figure });
}

async function copyText(text, button) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    // Files opened from disk may not write to the clipboard in every browser.
    const area = element("textarea", {}, text);
    document.body.append(area);
    area.select();
    button.textContent = document.execCommand("copy") ? "Copied" : "Not copied";
    area.remove();
  }
  setTimeout(() => (button.textContent = before), 1500);
}

async function drawNow(figure) {
  if (waiting.delete(figure)) await draw(figure);
}

const near = new IntersectionObserver(
  (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => drawNow(entry.target)),
  { rootMargin: "300px" },
);
waiting.forEach((figure) => near.observe(figure));

async function drawRest() {
  const next = waiting.values().next().value;
  if (next === undefined) {
    document.documentElement.dataset.drawn = "all";
    rehearsePanelPlot();
    return;
  }
  await drawNow(next);
  whenIdle(drawRest);
}

function whenIdle(work) {
  if ("requestIdleCallback" in window) requestIdleCallback(work, { timeout: 1000 });
  else setTimeout(work, 100);
}

// What was behind a tab or a closed line had no width, and a head or task may have been chosen since.
function shownAgain(around) {
  for (const figure of around.querySelectorAll("figure[data-figure]")) {
    if (!drawnFigures.has(figure)) continue;
    const plot = figure.querySelector(".plot.js-plotly-plot");
    if (!plot) continue;
    fit(plot);
    if (figure.isUnmarked) Plotly.relayout(plot, { shapes: marksOf(figure, plot.layout) });
    figure.isUnmarked = false;
  }
}

themeListeners.push(() => drawnFigures.forEach((_, figure) => draw(figure)));
addEventListener("resize", fitAll);
for (const [event, printing] of [["beforeprint", true], ["afterprint", false]]) {
  addEventListener(event, () => {
    onPaper = printing;
    fitAll();
  });
}
for (const folded of document.querySelectorAll("details")) folded.addEventListener("toggle", () => shownAgain(folded));
