// What Python packed: deflated bytes as base64 in elements that browsers neither run nor show.
async function unpacked(name) {
  const text = document.getElementById(`packed-${name}`).textContent;
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function unpackedJson(name) {
  return JSON.parse(new TextDecoder().decode(await unpacked(name)));
}

// One element with its text, classes and other attributes, and its children.
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}
