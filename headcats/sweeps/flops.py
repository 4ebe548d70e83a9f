"""Floating-point operations that a sweep of every head needs, counted from the shape of the model alone.

A multiply-add counts as two operations. Counted are matrix products, with attention over all keys of a prompt as every
implementation here computes it (a causal kernel could save half of the scores, at most 3 % of a layer at these sizes).
Norms, activations and softmax are left out, so a share of this bound stays below 1 even for perfect code.
"""

from dataclasses import dataclass

from headcats.models.shape import ModelShape


@dataclass(frozen=True)
class Costs:
    """Operations of the parts of a block and of the readout, each for one token.

    Attributes:
        queries: Query projection.
        keys: Key and value projections.
        out: Output projection of all heads.
        mlp: MLP.
        key: Scores and mixing of all heads, for one key that the token looks at.
        head_out: Output projection of one head.
        vocabulary: Logits of the whole vocabulary.
        pair: Logits of answer and distractor.
    """

    queries: int
    keys: int
    out: int
    mlp: int
    key: int
    head_out: int
    vocabulary: int
    pair: int

    @classmethod
    def of(cls, shape: ModelShape) -> "Costs":
        """The costs of a shape."""
        d, width = shape.d_model, shape.n_heads * shape.d_head
        return cls(
            queries=2 * d * width,
            keys=2 * 2 * d * shape.n_kv_heads * shape.d_head,
            out=2 * width * d,
            mlp=2 * d * shape.d_mlp * shape.mlp_matrices,
            key=2 * 2 * width,
            head_out=2 * shape.d_head * d,
            vocabulary=2 * d * shape.d_vocab,
            pair=2 * 2 * d,
        )

    def attention(self, keys: int) -> int:
        """One token through the attention of a block, over `keys` keys."""
        return self.queries + self.keys + keys * self.key + self.out


def forward(shape: ModelShape, *, prompts: int, length: int, logits: int) -> int:
    """An ordinary forward pass with logits at the last `logits` positions of every prompt."""
    c = Costs.of(shape)
    tokens = prompts * length
    return tokens * shape.n_layers * (c.attention(length) + c.mlp) + prompts * logits * c.vocabulary


def unpatched(shape: ModelShape, *, prompts: int, length: int, whole_vocabulary: bool) -> int:
    """The run that rows start from: keys and values of every position, and the numbers of the last one.

    In the last layer only the last position is read: the others need keys and values there, and nothing else.
    """
    c = Costs.of(shape)
    before = (shape.n_layers - 1) * length * (c.attention(length) + c.mlp)
    last = length * c.keys + c.queries + length * c.key + c.out + c.mlp
    return prompts * (before + last + (c.vocabulary if whole_vocabulary else c.pair))


def last_position(shape: ModelShape, *, prompts: int, length: int, whole_vocabulary: bool) -> int:
    """Every head replaced at the last position, given keys and values of the unpatched run.

    A head's row starts in its own layer with the head's part of the output projection and the MLP; later layers take
    all rows so far. The unpatched run is not counted.
    """
    c = Costs.of(shape)
    total = 0
    for layer in range(shape.n_layers):
        grown = layer * shape.n_heads
        total += grown * c.attention(length) + shape.n_heads * c.head_out + (grown + shape.n_heads) * c.mlp
    readout = c.vocabulary if whole_vocabulary else c.pair
    return prompts * (total + shape.n_layers * shape.n_heads * readout)


def unpatched_answers(shape: ModelShape, *, prompts: int, length: int, steps: int) -> int:
    """Flops of `unpatched`, with `steps` tokens of an answer and as many of a distractor behind every prompt.

    A prompt is run once for both; later tokens look at it and at those before them, and need the whole vocabulary.
    """
    c = Costs.of(shape)
    later = sum(c.attention(length + step + 1) + c.mlp for step in range(steps))
    in_all_layers = 2 * shape.n_layers * later + 2 * steps * c.vocabulary
    return unpatched(shape, prompts=prompts, length=length, whole_vocabulary=False) + prompts * in_all_layers


def answers(shape: ModelShape, *, prompts: int, length: int, steps: int) -> int:
    """Every head replaced at the last position of prompts that two answers follow; the unpatched run is not counted.

    A head's row starts as in `last_position`; from the next layer on, `steps` tokens of either answer change with it.
    """
    c = Costs.of(shape)
    later = sum(c.attention(length + step + 1) + c.mlp for step in range(steps))
    grown = shape.n_heads * sum(range(shape.n_layers))
    readout = shape.n_layers * shape.n_heads * 2 * steps * c.vocabulary
    of_prompts = last_position(shape, prompts=prompts, length=length, whole_vocabulary=False)
    return of_prompts + prompts * (2 * grown * later + readout)


def suffix(shape: ModelShape, *, prompts: int, length: int, first: int, whole_vocabulary: bool) -> int:
    """Every head replaced at positions `first` and later, given keys and values before them of the unpatched run.

    The last layer as in the unpatched run, which is not counted.
    """
    c = Costs.of(shape)
    width = length - first
    total = 0
    for layer in range(shape.n_layers):
        grown = layer * shape.n_heads
        if layer < shape.n_layers - 1:
            total += grown * width * c.attention(length) + shape.n_heads * width * c.head_out
            total += (grown + shape.n_heads) * width * c.mlp
        else:
            total += grown * (width * c.keys + c.queries + length * c.key + c.out) + shape.n_heads * c.head_out
            total += (grown + shape.n_heads) * c.mlp
    readout = c.vocabulary if whole_vocabulary else c.pair
    return prompts * (total + shape.n_layers * shape.n_heads * readout)


def fresh_rows(shape: ModelShape, *, prompts: int, length: int, first: int) -> int:
    """Flops of a TransformerBridge beside `last_position` and `suffix` in the layer in which a row begins.

    The model's own block projects the outputs of all heads; the least is the projection of the one that is replaced.
    Where a walk begins, one row goes through the attention, too; that is left out.
    """
    c = Costs.of(shape)
    positions = (shape.n_layers - 1) * (length - first) + 1
    return prompts * shape.n_heads * positions * (c.out - c.head_out)


def unread_queries(shape: ModelShape, *, prompts: int, length: int, first: int) -> int:
    """Flops of a TransformerBridge beside `suffix` in the last layer: queries at positions that are not read.

    The model's own block computes them together with the keys and values that the last position looks at.
    """
    older = shape.n_heads * (shape.n_layers - 1)
    return prompts * older * (length - 1 - first) * Costs.of(shape).queries


def one_position(shape: ModelShape, *, prompts: int, length: int, at: int, whole_vocabulary: bool) -> int:
    """Every head replaced at position `at` alone, given the unpatched run.

    In its own layer a head changes that position, in later ones those after it too. The last layer is read at the last
    position: heads there that write elsewhere change nothing. The unpatched run is not counted.
    """
    c = Costs.of(shape)
    width, last = length - at, shape.n_layers - 1
    readout = c.vocabulary if whole_vocabulary else c.pair
    start = shape.n_heads * (c.head_out + c.mlp)
    total = last * start + sum(range(last)) * shape.n_heads * width * (c.attention(length) + c.mlp)
    total += last * shape.n_heads * (width * c.keys + c.queries + length * c.key + c.out + c.mlp + readout)
    return prompts * (total + (start + shape.n_heads * readout if at == length - 1 else 0))
