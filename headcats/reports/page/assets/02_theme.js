// Light or dark: what the reader chose last, or else what the system asks for.
const darkColours = JSON.parse(document.getElementById("dark-colours").textContent);
const themeButton = document.getElementById("theme");
const systemDark = matchMedia("(prefers-color-scheme: dark)");
const themeListeners = [];

function remembered(value) {
  try {
    if (value !== undefined) localStorage.setItem("headcats-theme", value);
    return localStorage.getItem("headcats-theme");
  } catch {
    return null; // storage may be forbidden for files
  }
}

function isDark() {
  return document.documentElement.dataset.theme === "dark";
}

function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  themeButton.setAttribute("aria-pressed", String(dark));
  for (const listener of themeListeners) listener();
}

// A copy of a figure's description for the theme that is shown.
function coloured(content) {
  return isDark() ? withColours(content, darkColours) : structuredClone(content);
}

setTheme((remembered() ?? (systemDark.matches ? "dark" : "light")) === "dark");
themeButton.hidden = false;
themeButton.addEventListener("click", () => {
  setTheme(!isDark());
  remembered(isDark() ? "dark" : "light");
});
systemDark.addEventListener("change", () => {
  if (remembered() === null) setTheme(systemDark.matches);
});

// Paper is white.
let darkOnScreen = false;
addEventListener("beforeprint", () => {
  darkOnScreen = isDark();
  if (darkOnScreen) setTheme(false);
  for (const folded of document.querySelectorAll("details")) folded.open = true;
});
addEventListener("afterprint", () => {
  if (darkOnScreen) setTheme(true);
});
