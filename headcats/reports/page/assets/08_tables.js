// Tables that can be sorted, filtered, copied and saved, and tabs.
const FEW_ROWS = 6;

function connectTables() {
  for (const table of document.querySelectorAll("main table:not(.bars)")) {
    if (table.tBodies[0].rows.length < FEW_ROWS && !table.closest("#heads")) continue;
    for (const [place, head] of [...table.tHead.rows[0].cells].entries()) {
      if (!head.textContent.trim()) continue; // a column of labels
      const button = element("button", { type: "button", class: "sort" }, ...head.childNodes);
      head.replaceChildren(button);
      button.addEventListener("click", () => sortTable(table, place, head));
    }
    table.parentElement.before(toolsOfTable(table));
  }
}

function sortTable(table, place, head) {
  const falling = head.getAttribute("aria-sort") === "descending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", falling ? "ascending" : "descending");
  const keyOf = (row) => {
    const text = row.cells[place]?.textContent.trim() ?? "";
    const number = Number.parseFloat(text.replace("−", "-").replace("–", ""));
    return Number.isNaN(number) ? text.toLowerCase() : number;
  };
  // Texts behind numbers; L10H1 behind L2H1.
  const compare = (a, b) => (typeof a !== typeof b ? (typeof a === "number" ? 1 : -1) : typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true }));
  const rows = [...table.tBodies[0].rows].map((row) => [keyOf(row), row]);
  rows.sort(([a], [b]) => (falling ? compare(a, b) : compare(b, a)));
  table.tBodies[0].append(...rows.map(([, row]) => row));
}

function toolsOfTable(table) {
  const name = table.caption?.textContent || table.parentElement.getAttribute("aria-label") || "table";
  const filter = element("input", { type: "search", placeholder: "Filter", "aria-label": `Filter: ${name}`, size: "14" });
  filter.addEventListener("input", () => {
    const wanted = filter.value.toLowerCase();
    for (const row of table.tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  });
  const copy = element("button", { type: "button" }, "Copy"), save = element("button", { type: "button" }, "CSV");
  copy.addEventListener("click", () => copyText(rowsOf(table).map((row) => row.join("\t")).join("\n"), copy));
  save.addEventListener("click", () => saveCsv(rowsOf(table), `${name.slice(0, 40)}.csv`));
  return element("p", { class: "table-tools" }, filter, copy, save);
}

function rowsOf(table) {
  const shown = [...table.tBodies[0].rows].filter((row) => !row.hidden);
  return [table.tHead.rows[0], ...shown].map((row) => [...row.cells].map((cell) => cell.textContent.trim()));
}

function saveCsv(rows, name) {
  const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const content = rows.map((row) => row.map((cell) => quoted(String(cell))).join(",")).join("\n");
  const address = URL.createObjectURL(new Blob([`${content}\n`], { type: "text/csv" }));
  element("a", { href: address, download: name.replace(/[^\w.-]+/g, "_") }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

function connectTabs() {
  const tabs = [...document.querySelectorAll(".tab")];
  const show = () => {
    const chosen = tabs.find(({ id }) => id === selection.tab) ?? tabs[0];
    for (const tab of tabs) tab.hidden = tab !== chosen;
    for (const link of document.querySelectorAll("a[data-tab]")) {
      if (link.dataset.tab === chosen.id) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    shownAgain(chosen);
  };
  if (!tabs.length) return;
  selectionListeners.push((changed) => changed.has("tab") && show());
  for (const link of document.querySelectorAll("a[data-tab]")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      select({ tab: link.dataset.tab === tabs[0].id ? "" : link.dataset.tab });
    });
  }
  addEventListener("beforeprint", () => tabs.forEach((tab) => {
    tab.hidden = false;
    shownAgain(tab);
  }));
  addEventListener("afterprint", show);
  show();
}
