// What Python packed: deflated bytes as base64 in elements that browsers neither run nor show.
async function unpacked(name) {
  const text = document.getElementById(`packed-${name}`).textContent;
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function unpackedText(name) {
  return new TextDecoder().decode(await unpacked(name));
}

async function unpackedJson(name) {
  return JSON.parse(await unpackedText(name));
}

// plotly.js takes four fifths of a page: packed it takes two.
const plotlyReady = unpackedText("plotly").then((source) => {
  document.head.append(element("script", {}, source));
  // Upstream defect: on every hover of an image trace Plotly warns that the colour below the pointer is no text.
  Plotly.setPlotConfig({ logging: 0 });
});

// One element with its text, classes and other attributes, and its children.
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}
