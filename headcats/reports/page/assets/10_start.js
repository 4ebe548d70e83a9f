document.documentElement.classList.add("scripted");
document.querySelector(".tools").hidden = false;
connectTables();
connectTabs();
whenIdle(drawRest);
headsReady
  .then(() => {
    connectFirst();
    connectHeads();
    connectAllHeads();
    connectAddress();
    document.documentElement.dataset.heads = "ready";
  })
  .catch((problem) => {
    const why = "DecompressionStream" in window ? String(problem) : "It needs a browser of 2023 or later.";
    document.getElementById("main").prepend(element("p", { class: "note" }, `The numbers of single heads could not be read. ${why}`));
  });

// Below the table of members: a file with all heads, in a category or not.
function connectAllHeads() {
  const table = document.querySelector("#heads h2");
  if (!table || !heads.categories.length) return;
  const button = element("button", { type: "button" }, `CSV of all ${heads.noun}s`);
  button.addEventListener("click", () => saveCsv(allHeads(), "heads.csv"));
  table.after(element("p", { class: "table-tools" }, button));
}

// Every head and category of the map that is shown, as rows of texts.
function allHeads() {
  const { verdicts } = heads.maps[shownMap()], block = blockOfMap(shownMap());
  const rows = [["head", "category", "verdict", "effect", "low", "high", "q"]];
  heads.per_layer.forEach((n, layer) => {
    for (let head = 0; head < n; head++) {
      heads.categories.forEach(({ name }, place) => {
        const isIn = block?.names.includes(name), at = isIn && placeOf(block, block.names.indexOf(name), layer, head);
        const numbers = isIn ? ["effect", "low", "high", "q_value"].map((field) => (Number.isNaN(block.numbers[field][at]) ? "" : Number(block.numbers[field][at].toPrecision(4)))) : [];
        rows.push([headName(layer, head), name, VERDICTS[verdicts[place][gridPlace(layer, head)]], ...numbers]);
      });
    }
  });
  return rows;
}
