// The first screen: which map is shown, which category of it, and what the pointer says of a head.
const views = JSON.parse(document.getElementById("map-views").textContent); // of every map: category -> seen traces
const mapChoice = document.getElementById("map-choice");

function connectFirst() {
  if (!mapChoice) return;
  document.querySelector(".switches").hidden = false;
  mapChoice.addEventListener("change", () => select({ map: mapChoice.value === "0" ? "" : mapChoice.value }));
  for (const button of document.querySelectorAll("[data-view]")) {
    const isFirst = button.dataset.view === Object.keys(views[0])[0];
    button.addEventListener("click", () => select({ category: isFirst ? "" : button.dataset.view }));
  }
  selectionListeners.push((changed) => {
    if (changed.has("map")) showMap();
    if (changed.has("map") || changed.has("category")) showCategory();
  });
}

function shownMap() {
  return views[Number(selection.map)] ? Number(selection.map) : 0;
}

function showMap() {
  mapChoice.value = String(shownMap());
  for (const map of document.querySelectorAll(".map")) {
    map.hidden = Number(map.dataset.map) !== shownMap();
    if (!map.hidden) shownAgain(map);
  }
}

function showCategory() {
  const names = Object.keys(views[shownMap()]);
  const name = names.includes(selection.category) ? selection.category : names[0];
  for (const button of document.querySelectorAll("[data-view]")) button.setAttribute("aria-pressed", String(button.dataset.view === name));
  for (const card of document.querySelectorAll(".card")) card.classList.toggle("faint", name !== names[0] && card.dataset.category !== name);
  const figure = document.querySelector(`.map[data-map="${shownMap()}"] figure`);
  const before = figure.visibleTraces ?? views[shownMap()][names[0]];
  figure.visibleTraces = views[shownMap()][name];
  const plot = figure.querySelector(".plot.js-plotly-plot");
  if (plot && figure.visibleTraces.some((seen, place) => seen !== before[place])) Plotly.restyle(plot, { visible: figure.visibleTraces }, figure.visibleTraces.map((_, place) => place));
}

// Beside the pointer: the head, its categories, and its numbers in each.
const pointed = element("div", { class: "pointed", hidden: "" });
document.body.append(pointed);

function connectPointer(figure, plot) {
  const map = Number(figure.closest(".map").dataset.map);
  plot.on("plotly_hover", ({ points: [point], event }) => {
    if (!heads) return;
    const [layer, head] = [Number(point.x), Number(point.y)];
    pointed.replaceChildren(element("strong", {}, headName(layer, head)), ...linesOf(map, layer, head).map((line) => element("div", {}, line)));
    pointed.hidden = false;
    const left = Math.min(event.clientX + 14, innerWidth - pointed.offsetWidth - 8);
    pointed.style.left = `${Math.max(8, left)}px`;
    pointed.style.top = `${Math.min(event.clientY + 14, innerHeight - pointed.offsetHeight - 8)}px`;
  });
  plot.on("plotly_unhover", () => (pointed.hidden = true));
}

// A line per category: its verdict, effect, interval and q.
function linesOf(map, layer, head) {
  const { verdicts } = heads.maps[map];
  const block = blockOfMap(map);
  return heads.categories.map(({ name }, place) => {
    const verdict = VERDICTS[verdicts[place][gridPlace(layer, head)]];
    if (!block?.names.includes(name)) return `${name}: ${verdict}`;
    const at = placeOf(block, block.names.indexOf(name), layer, head);
    if (Number.isNaN(block.numbers.effect[at])) return `${name}: not judged`;
    return `${name}: ${verdict}, ${fixed(block.numbers.effect[at])} [${between(block, at)}], q ${asQ(block.numbers.q_value[at])}`;
  });
}
