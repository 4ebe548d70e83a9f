// Where the head looks in a prompt, clean beside corrupted, by category.
function attentionThumbnails(layer, head) {
  const name = headName(layer, head);
  const views = heads.attention.filter(({ thumbnails }) => thumbnails[name]);
  const chosen = views.find(({ category }) => category === selection.category) ?? largestOf(views, layer, head);
  if (!chosen) return [];
  const { task, item, clean, corrupted } = chosen.thumbnails[name];
  const pictures = [["clean", clean], ["corrupted", corrupted]].map(([side, pattern]) => element("figure", {}, thumbnail(pattern), element("figcaption", {}, side, looksOf(pattern))));
  const about = element("p", { class: "quiet" }, `Attention on ${task}, “${item}”; the last tokens, the answer is read after the lowest row.`);
  return [element("h3", {}, "Where it looks"), element("span", { class: "thumbnails" }, ...pictures), about];
}

// The category on which the head has the largest effect.
function largestOf(views, layer, head) {
  const block = blockOfMap(shownMap());
  const size = ({ category }) => (block?.names.includes(category) ? Math.abs(block.numbers.effect[placeOf(block, block.names.indexOf(category), layer, head)]) || 0 : 0);
  return views.reduce((first, view) => (size(view) > size(first) ? view : first), views[0]);
}

// What the last token gives the most weight.
function looksOf({ from, looks }) {
  const texts = looks.map(([token, weight]) => `${token} ${fixed(weight, 2)}`);
  return element("span", { class: "quiet looks" }, `${from} looks at ${texts.join(", ") || "no token in particular"}`);
}

// Dark cells where a token (row) gives much of its attention to another one (column).
function thumbnail({ n, shades }) {
  const canvas = element("canvas", { width: n, height: n, role: "img", "aria-label": "attention pattern" });
  const image = new ImageData(n, n);
  [...atob(shades)].forEach((letter, place) => {
    const share = letter.charCodeAt(0) / 255;
    // From white to the dark end of the scale Blues, as in the pictures of circuitsvis.
    image.data.set([8, 48, 107].map((dark) => Math.round(255 + share * (dark - 255))).concat(255), 4 * place);
  });
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}
