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
const plotlyReady = unpacked("plotly").then(runScript).then(() => {
  // Upstream defect: on every hover of an image trace Plotly warns that the colour below the pointer is no text.
  Plotly.setPlotConfig({ logging: 0 });
});

// A script with an address is compiled beside the page; where addresses of blobs are forbidden, within it.
async function runScript(bytes) {
  const source = new Blob([bytes], { type: "text/javascript" });
  try {
    const address = URL.createObjectURL(source), script = element("script", { src: address });
    const loaded = new Promise((done, refused) => Object.assign(script, { onload: done, onerror: refused }));
    document.head.append(script);
    await loaded.finally(() => URL.revokeObjectURL(address));
  } catch {
    document.head.append(element("script", {}, await source.text()));
  }
}

// One element with its text, classes and other attributes, and its children.
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}
