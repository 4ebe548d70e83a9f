// The page of several runs: a table of heads can be cut down to those that move.
const MOVES_MARK = "↔ moves"; // as the table writes it

function connectSeveralRuns() {
  for (const table of document.querySelectorAll("#side_by_side_heads table")) {
    const filter = table.closest(".wide").previousElementSibling?.querySelector("input[type=search]");
    if (!filter || !table.tBodies[0].textContent.includes(MOVES_MARK)) continue;
    const button = element("button", { type: "button", "aria-pressed": "false" }, "Moves only");
    button.addEventListener("click", () => {
      filter.value = filter.value === MOVES_MARK ? "" : MOVES_MARK;
      filter.dispatchEvent(new Event("input"));
    });
    filter.addEventListener("input", () => button.setAttribute("aria-pressed", String(filter.value === MOVES_MARK)));
    filter.before(button);
  }
}

if (document.querySelector('figure[data-figure^="runs_"]')) connectSeveralRuns();
