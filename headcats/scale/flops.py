"""Floating-point operations that a sweep of every head needs, counted from the shape of the model alone.

A multiply-add counts as two operations. Counted are matrix products, with attention over all keys of a prompt as every
implementation here computes it (a causal kernel could save half of the scores, at most 3 % of a layer at these sizes).
Norms, activations and softmax are left out, so a share of this bound stays below 1 even for perfect code.
"""

from headcats.scale.shape import ModelShape


class Costs:
    """Operations for one token: of the parts of a block and of the readout.

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

    def __init__(self, shape: ModelShape) -> None:
        d, width = shape.d_model, shape.n_heads * shape.d_head
        self.queries, self.keys = 2 * d * width, 4 * d * shape.n_kv_heads * shape.d_head
        self.out, self.head_out = 2 * width * d, 2 * shape.d_head * d
        self.mlp = 2 * d * shape.d_mlp * shape.mlp_matrices
        self.key = 4 * width
        self.vocabulary, self.pair = 2 * d * shape.d_vocab, 4 * d

    def attention(self, keys: int) -> int:
        """Operations of one token in the attention of a block, over `keys` keys."""
        return self.queries + self.keys + keys * self.key + self.out

    def later(self, length: int, steps: int) -> int:
        """Operations of `steps` tokens behind a prompt in one block."""
        return sum(self.attention(length + step + 1) + self.mlp for step in range(steps))


def forward(shape: ModelShape, *, prompts: int, length: int, logits: int) -> int:
    """An ordinary forward pass with logits at the last `logits` positions of every prompt."""
    c = Costs(shape)
    tokens = prompts * length
    return tokens * shape.n_layers * (c.attention(length) + c.mlp) + prompts * logits * c.vocabulary


def unpatched(shape: ModelShape, *, prompts: int, length: int, whole_vocabulary: bool, steps: int = 0) -> int:
    """The run that rows start from: keys and values of every position, and the numbers of the last one.

    In the last layer only the last position is read: the others need keys and values there, and nothing else. A prompt
    is run once for answer and distractor; each goes on for `steps` tokens, which need the whole vocabulary.
    """
    c = Costs(shape)
    before = (shape.n_layers - 1) * length * (c.attention(length) + c.mlp)
    last = length * c.keys + c.queries + length * c.key + c.out + c.mlp
    answers = 2 * shape.n_layers * c.later(length, steps) + 2 * steps * c.vocabulary
    return prompts * (before + last + (c.vocabulary if whole_vocabulary else c.pair) + answers)


def swept(shape: ModelShape, *, prompts: int, length: int, first: int, whole_vocabulary: bool, steps: int = 0) -> int:
    """Every head replaced at positions `first` and later, given the unpatched run, which is not counted.

    A head's row starts in its own layer with the head's part of the output projection and the MLP; later layers take
    all rows so far, the last one as in the unpatched run. At the last position, `steps` tokens of either answer change
    with a row from the next layer on.
    """
    c = Costs(shape)
    width, last = length - first, shape.n_layers - 1
    grown = shape.n_heads * last
    total = shape.n_heads * sum(range(last)) * width * (c.attention(length) + c.mlp)
    total += shape.n_heads * last * width * (c.head_out + c.mlp)
    total += grown * (width * c.keys + c.queries + length * c.key + c.out) + shape.n_heads * c.head_out
    total += (grown + shape.n_heads) * c.mlp
    total += 2 * shape.n_heads * sum(range(shape.n_layers)) * c.later(length, steps)
    readout = (c.vocabulary if whole_vocabulary else c.pair) + 2 * steps * c.vocabulary
    return prompts * (total + shape.n_layers * shape.n_heads * readout)


def bridge_extras(shape: ModelShape, *, prompts: int, length: int, first: int) -> int:
    """Operations of a TransformerBridge beside `swept`, as it calls the model's own blocks.

    Where a row begins, the outputs of all heads are projected, and in the last layer positions that are not read get
    queries. Where a walk begins, one row goes through the attention, too; that is left out.
    """
    c = Costs(shape)
    projected = ((shape.n_layers - 1) * (length - first) + 1) * (c.out - c.head_out)
    return prompts * shape.n_heads * (projected + (shape.n_layers - 1) * (length - 1 - first) * c.queries)
