document.documentElement.classList.add("scripted");
loadHeads()
  .then(() => {
    connectHeads();
    connectExplorer();
    document.documentElement.dataset.heads = "ready";
  })
  .catch((problem) => {
    const why = "DecompressionStream" in window ? String(problem) : "It needs a browser of 2023 or later.";
    document.getElementById("main").prepend(element("p", { class: "note" }, `The numbers of single heads could not be read. ${why}`));
  });
