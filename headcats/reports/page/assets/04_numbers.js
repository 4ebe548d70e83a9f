// The numbers of every head, as `headcats/reports/page/numbers.py` packs them.
const MISSING = -32768;
let heads = null; // grid, categories, verdicts, tasks and blocks
const headsReady = loadHeads();

async function loadHeads() {
  const [about, bytes] = await Promise.all([unpackedJson("heads"), unpacked("numbers")]);
  for (const block of about.blocks) block.numbers = decoded(block, bytes);
  heads = about;
}

function decoded(block, bytes) {
  const size = block.shape.reduce((product, n) => product * n, 1);
  const numbers = {};
  block.fields.forEach((field, place) => {
    const start = block.start + 2 * size * place;
    const values = new Float64Array(size);
    for (let i = 0; i < size; i++) {
      const count = ((bytes[start + i] | (bytes[start + size + i] << 8)) << 16) >> 16;
      if (count === MISSING) values[i] = NaN;
      else if (field === "q_value") values[i] = 10 ** (count / 1000);
      else if (field === "low") values[i] = numbers.effect[i] - count * block.step;
      else if (field === "high") values[i] = numbers.effect[i] + count * block.step;
      else values[i] = count * block.step;
    }
    numbers[field] = values;
  });
  return numbers;
}

// Place of a head in the numbers of a block: row by row, layer by layer.
function placeOf(block, row, layer, head) {
  return (row * block.shape[1] + layer) * block.shape[2] + head;
}

function fixed(value, digits = 3) {
  return Number.isNaN(value) ? "–" : value.toFixed(digits).replace(/^-(?=0\.?0*$)/, "").replace("-", "−");
}

function asQ(value) {
  return Number.isNaN(value) ? "–" : Number(value.toPrecision(2)).toString().replace("-", "−");
}

function headName(layer, head) {
  return `L${layer}${heads.letter}${head}`;
}

function exists(layer, head) {
  return layer >= 0 && head >= 0 && layer < heads.grid[0] && head < heads.per_layer[layer];
}

function headButton(layer, head) {
  const name = headName(layer, head);
  return element("button", { type: "button", class: "head", "data-head": name }, name);
}
