"""Operations and memory of the methods of a study, from the shape of a model and the prompts.

A multiply-add counts as two operations. Counted are matrix products, with attention over all keys of a prompt (a causal
kernel could save half of the scores, at most 3 % of a layer at these sizes). Norms, activations and softmax are left
out.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from headcats.base.errors import DataError
from headcats.methods.causal.method import CausalMethod
from headcats.methods.spec import MethodSpec
from headcats.metrics.definition import reads_vocabulary
from headcats.prompts.batch import PromptBatch
from headcats.prompts.packing import Side
from headcats.results.head_axes import KV_GROUP
from headcats.scale.shape import ModelShape
from headcats.study.preparation import Preparation
from headcats.study.references import reference_kind
from headcats.sweeps.memory import Footprint, Sizes, plan
from headcats.sweeps.role_sums import ROWS
from headcats.sweeps.sources import first_change

UNPATCHED = "unpatched runs"


class Costs:
    """Operations for one token: of the parts of a block, of attention to one `key`, and of the readout."""

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
    """The run that rows start from; in the last layer only the last position is read, the others need keys and values.

    A prompt is run once for answer and distractor; each goes on for `steps` tokens, which need the whole vocabulary.
    """
    c = Costs(shape)
    before = (shape.n_layers - 1) * length * (c.attention(length) + c.mlp)
    last = length * c.keys + c.queries + length * c.key + c.out + c.mlp
    answers = 2 * shape.n_layers * c.later(length, steps) + 2 * steps * c.vocabulary
    return prompts * (before + last + (c.vocabulary if whole_vocabulary else c.pair) + answers)


def swept(shape: ModelShape, *, prompts: int, length: int, first: int, whole_vocabulary: bool, steps: int = 0) -> int:
    """Every head replaced at positions `first` and later, given the unpatched run, which is not counted.

    A head's row starts in its own layer with its part of the output projection and the MLP; later layers take all rows
    so far. At the last position, `steps` tokens of either answer change with a row from the next layer on.
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
    """Operations of a TransformerBridge beside `swept`: outputs of all heads where a row begins, unread queries."""
    c = Costs(shape)
    projected = ((shape.n_layers - 1) * (length - first) + 1) * (c.out - c.head_out)
    return prompts * shape.n_heads * (projected + (shape.n_layers - 1) * (length - 1 - first) * c.queries)


def bridge_sizes(shape: ModelShape, dtype: torch.dtype) -> Sizes:
    """Sizes of a TransformerBridge of a shape, on a GPU."""
    return Sizes(
        name=shape.name,
        weights=shape.weights * dtype.itemsize,
        loaded=0,
        number=dtype.itemsize,
        layers=shape.n_layers,
        max_heads=shape.n_heads,
        d_z=shape.n_heads * shape.d_head,
        d_kv=shape.n_kv_heads * shape.d_head,
        d_model=shape.d_model,
        d_hidden=shape.d_mlp,
        d_vocab=shape.d_vocab,
        is_bridge=True,
        keeps_logits=True,
        streams=1,
        # The bridge of GPT-2 and others of its time keeps them; none of those has a gated MLP.
        n_patterns=shape.n_layers if shape.mlp_matrices == 2 else 0,
        on_cpu=False,
    )


@dataclass(frozen=True)
class Counting:
    """Counts what the methods of a study take on its prompts."""

    shape: ModelShape
    sizes: Sizes
    preparation: Preparation

    def batches(self, spec: MethodSpec | None = None) -> list[PromptBatch]:
        """Scored prompts of all tasks, as a method goes through them; None for unpatched runs."""
        tasks = self.preparation.study.tasks
        return [batch for task in tasks for batch in self.preparation.batches(task.name, spec)]

    def operations(self) -> Iterator[tuple[str, int]]:
        """Operations of the runs that all methods share, then of each method; those of one mean share its runs, as the
        first's.
        """
        sides: tuple[Side, ...] = ("clean", "corrupted")
        batches = self.batches()
        shared = (self._forward(batch, side) + self._recorded(batch, side) for batch in batches for side in sides)
        yield UNPATCHED, sum(shared) + sum(self._forward(batch, "clean") for batch in batches)
        done = set[tuple[str, str]]()
        for spec in self.preparation.study.methods:
            kind, total = reference_kind(spec), sum(self._swept(spec, batch) for batch in self.batches(spec))
            if kind.startswith("other_"):
                total += sum(self._forward(batch, "clean") for batch in batches)
            elif kind:
                keys = [("" if kind == "suite" else task.name, kind) for task in self.preparation.study.tasks]
                total += sum(self._reference(*key) for key in dict.fromkeys(keys) if key not in done)
                done |= {*keys}
            if spec.method.intervention.uses_second:
                total += sum(self._recorded(batch, "corrupted") for batch in batches)
            yield spec.label, total

    def memory(self, spec: MethodSpec, *, budget: int) -> int:
        """Bytes expected beside the weights; a MemoryLimitError if a sweep cannot be cut to fit into the budget."""
        captured = ROWS if spec.method.intervention.uses_reference else 0
        most = 0
        for batch in self.batches(spec):
            of, first = batch.continued(spec.method.intervention.base), self._first(spec, batch)
            footprint = Footprint.of(self.sizes, of, first=first, path="replayed")
            cut = plan(footprint, rows=self._heads(spec) * self.shape.n_layers, budget=budget)
            most = max(most, footprint.expected(cut.prompts, cut.rows, budget=budget, captured=captured))
        return most

    def _swept(self, spec: MethodSpec, batch: PromptBatch) -> int:
        """The sweep of every head, or every group of heads that share keys and values, on a batch."""
        of, first = batch.continued(spec.method.intervention.base), self._first(spec, batch)
        vocabulary, n, steps = reads_vocabulary(self.preparation.study.metrics), len(batch), of.steps
        if first == of.length - 1:
            sizes = {"prompts": n, "length": of.length, "first": first}
            total = swept(self.shape, **sizes, steps=steps, whole_vocabulary=vocabulary and not steps)
        else:
            sizes = {"prompts": n, "length": of.packed_length, "first": first}
            total = swept(self.shape, **sizes, whole_vocabulary=vocabulary)
            total += 2 * steps * n * self.shape.n_layers * self.shape.n_heads * Costs(self.shape).vocabulary
        return (total + bridge_extras(self.shape, **sizes)) * self._heads(spec) // self.shape.n_heads

    def _first(self, spec: MethodSpec, batch: PromptBatch) -> int:
        intervention = spec.method.intervention
        try:
            return first_change(intervention, batch, batch.positions(spec.positions, of=intervention.base))
        except DataError:
            return 0

    def _reference(self, task: str, kind: str) -> int:
        """The runs of the prompts of a mean; none for a task without such prompts, whose block a study skips."""
        name = task or self.preparation.study.tasks[0].name
        try:
            batches = self.preparation.references.of(name, kind).batches
        except DataError:
            return 0
        return sum(forward(self.shape, prompts=len(each), length=each.length, logits=1) for each in batches)

    def _forward(self, batch: PromptBatch, side: Side) -> int:
        of = batch.continued(side)
        n, logits = len(batch) * max(1, len(of.branches)), 1 + of.steps
        return forward(self.shape, prompts=n, length=of.length + of.steps, logits=logits)

    def _recorded(self, batch: PromptBatch, side: Side) -> int:
        of = batch.continued(side)
        sizes = {"prompts": len(batch), "length": of.length, "steps": of.steps}
        return unpatched(self.shape, **sizes, whole_vocabulary=not of.steps)

    def _heads(self, spec: MethodSpec) -> int:
        """Heads of a layer, or groups of them."""
        unit = dict(spec.options).get("unit")
        return self.shape.n_kv_heads if unit == KV_GROUP else self.shape.n_heads


def is_planned(spec: MethodSpec) -> bool:
    """True if a method is a sweep of heads, which is all that can be counted."""
    return isinstance(spec.method, CausalMethod)
