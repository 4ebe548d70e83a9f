// What Python packed: deflated bytes as base64 in elements that browsers neither run nor show.
async function unpacked(name) {
  const text = atob(document.getElementById(`packed-${name}`).textContent);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i); // ten times as fast as a function per letter
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
const plotlyReady = unpacked("plotly").then(run).then(() => {
  // Upstream defect: on every hover of an image trace Plotly warns that the colour below the pointer is no text.
  Plotly.setPlotConfig({ logging: 0 });
});

// With an address of its own a script is compiled beside the page; where such addresses are forbidden, within it.
async function run(bytes) {
  const source = new Blob([bytes], { type: "text/javascript" });
  const script = element("script", { src: URL.createObjectURL(source) });
  const loaded = new Promise((done, failed) => Object.assign(script, { onload: done, onerror: failed }));
  document.head.append(script);
  await loaded.catch(async () => document.head.append(element("script", {}, await source.text())));
}

// One element with its text, classes and other attributes, and its children.
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}
