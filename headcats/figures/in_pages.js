// What pages of single figures and reports do alike.

// A figure's description with its neutral colours replaced; colours that mean something stay.
function withColours(value, colours) {
  if (typeof value === "string") return Object.hasOwn(colours, value) ? colours[value] : value;
  if (Array.isArray(value)) return value.map((inner) => withColours(inner, colours));
  if (!value || typeof value !== "object" || ArrayBuffer.isView(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withColours(inner, colours)]));
}

// The change of a layout by which layers and heads are whole numbers, however far one zooms in; null for none.
function wholeNumbers(layout) {
  const update = {};
  for (const [name, axis] of Object.entries(layout)) {
    if (!/^[xy]axis\d*$/.test(name) || !axis.nticks || !["auto", "linear"].includes(axis.tickmode)) continue;
    const mode = Math.abs(axis.range[1] - axis.range[0]) <= axis.nticks ? "linear" : "auto";
    if (mode !== axis.tickmode) Object.assign(update, { [`${name}.tickmode`]: mode, [`${name}.dtick`]: 1, [`${name}.tick0`]: 0 });
  }
  return Object.keys(update).length ? update : null;
}
