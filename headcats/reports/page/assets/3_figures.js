// Figures are drawn when they come near the window, and the rest when there is nothing else to do.
const LEAST = 0.75; // below this their texts cannot be read: the figure then scrolls sideways
const PAPER = { width: 680, height: 940, least: 0.5 }; // A4 and Letter within their margins; paper does not scroll
const CONFIG = { displaylogo: false, showSendToCloud: false, doubleClick: "reset", modeBarButtonsToRemove: ["toggleSpikelines"] };
const drawnFigures = new Map();
let onPaper = false;
// Upstream defect: on every hover of an image trace Plotly warns that the colour below the pointer is no text.
Plotly.setPlotConfig({ logging: 0 });

// Everything in a figure has its place in pixels, so a narrow window shows all of it smaller. By a transform, through
// which Plotly still finds the head below the pointer; the element around it is made as small as what it then shows.
function fit(plot) {
  const { width, height } = plot.layout;
  const scale = onPaper ? paperScale(width, height) : Math.min(1, Math.max(LEAST, plot.closest(".wide").clientWidth / width));
  plot.style.transform = scale < 1 ? `scale(${scale})` : "";
  plot.style.width = `${width}px`;
  const around = plot.parentElement;
  around.style.width = `${Math.floor(scale * width)}px`;
  around.style.height = `${Math.ceil(scale * height)}px`;
  around.style.overflow = "hidden";
}

// The whole width always; the whole height as well, unless that leaves nothing to read.
function paperScale(width, height) {
  const across = PAPER.width / width;
  return Math.min(1, across, Math.max(Math.min(across, PAPER.least), PAPER.height / height));
}

function fitAll() {
  for (const plot of document.querySelectorAll(".plot.js-plotly-plot")) fit(plot);
}

async function draw(figure) {
  const plot = figure.querySelector(".plot");
  if (!drawnFigures.has(figure)) {
    drawnFigures.set(figure, unpackedJson(`figure-${figure.dataset.figure}`));
    const content = coloured(await drawnFigures.get(figure));
    plot.replaceChildren();
    await Plotly.newPlot(plot, content.data, content.layout, CONFIG);
    const order = figure.dataset.heads;
    if (order) {
      plot.on("plotly_click", ({ points: [point] }) => {
        const place = [point.x, point.y].map(Number);
        Plotly.Fx.unhover(plot); // after a tap it would stay
        showHead(...(order === "layer-head" ? place : place.reverse()));
      });
    }
  } else {
    const content = coloured(await drawnFigures.get(figure));
    await Plotly.react(plot, content.data, content.layout, CONFIG);
  }
  fit(plot);
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
  // As much room as the figure will take, so that nothing below it moves.
  const wide = Number(figure.style.getPropertyValue("--wide"));
  const scale = Math.min(1, Math.max(LEAST, figure.querySelector(".wide").clientWidth / wide));
  around.style.height = `${Math.ceil(scale * Number(figure.style.getPropertyValue("--high")))}px`;
}

async function drawNow(figure) {
  if (!waiting.delete(figure)) return;
  try {
    await draw(figure);
  } catch (problem) {
    failed(figure, problem);
  }
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
    return;
  }
  await drawNow(next);
  whenIdle(drawRest);
}

function whenIdle(work) {
  if ("requestIdleCallback" in window) requestIdleCallback(work, { timeout: 1000 });
  else setTimeout(work, 100);
}

themeListeners.push(() => drawnFigures.forEach((_, figure) => draw(figure)));
addEventListener("resize", fitAll);
for (const [event, printing] of [["beforeprint", true], ["afterprint", false]]) {
  addEventListener(event, () => {
    onPaper = printing;
    fitAll();
  });
}
// A figure behind a closed line has no width.
for (const folded of document.querySelectorAll("details")) {
  folded.addEventListener("toggle", () => {
    for (const plot of folded.querySelectorAll(".plot.js-plotly-plot")) fit(plot);
  });
}
whenIdle(drawRest);
