// What the reader has chosen: a head, a task, a category, a map and a tab. The address holds it, so Back works and a
// link shows the same; everything that depends on it is brought up to date by `apply`.
const KEYS = ["head", "task", "category", "map", "tab"];
const selection = {};
const selectionListeners = [];

function select(change) {
  const next = { ...selection, ...change };
  if (KEYS.every((key) => (next[key] ?? "") === (selection[key] ?? ""))) return;
  history.pushState(null, "", addressOf(next));
  apply(next);
}

function addressOf(chosen) {
  const given = KEYS.filter((key) => chosen[key]);
  if (!given.length) return location.pathname + location.search;
  return given.length === 1 && given[0] === "head" ? `#${chosen.head}` : `#${new URLSearchParams(given.map((key) => [key, chosen[key]]))}`;
}

// An address is a selection, a head alone, or the name of a part of the page.
function addressed() {
  const text = decodedAddress();
  const head = heads && named(text);
  if (head) return exists(...head) ? { head: headName(...head) } : {};
  if (text.includes("=")) {
    const given = new URLSearchParams(location.hash.slice(1));
    return Object.fromEntries(KEYS.filter((key) => given.get(key)).map((key) => [key, given.get(key)]));
  }
  const tab = text && document.getElementById(text)?.closest(".tab");
  return tab ? { tab: tab.id } : {};
}

function decodedAddress() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return ""; // typed by hand: "%" begins a code
  }
}

function apply(next) {
  const before = { ...selection };
  for (const key of KEYS) {
    if (next[key]) selection[key] = next[key];
    else delete selection[key];
  }
  const changed = new Set(KEYS.filter((key) => (before[key] ?? "") !== (selection[key] ?? "")));
  for (const listener of selectionListeners) listener(changed);
  // Behind the panel, which is what the reader waits for.
  if (changed.has("head") || changed.has("task")) requestAnimationFrame(() => setTimeout(markAll));
}

function connectAddress() {
  const follow = () => apply(addressed());
  addEventListener("popstate", follow);
  addEventListener("hashchange", follow);
  follow();
}
