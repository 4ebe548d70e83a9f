"""Operations, memory and storage of the methods of a study, from the shape of a model and the prompts."""

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
from headcats.scale import flops
from headcats.scale.shape import ModelShape
from headcats.study.preparation import Preparation
from headcats.study.references import reference_kind
from headcats.sweeps.memory import Footprint, plan
from headcats.sweeps.role_sums import ROWS
from headcats.sweeps.sizes import Sizes
from headcats.sweeps.sources import first_change

UNPATCHED = "unpatched runs"
# A block beside its values: groups, attributes and types of HDF5, and three texts for every prompt.
_OF_FILE, _OF_PROMPT = 17_500, 130


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
    """Counts what the methods of a study take on its prompts.

    Attributes:
        shape: Sizes of the model.
        sizes: Those that decide on memory.
        preparation: The study with its prompts.
    """

    shape: ModelShape
    sizes: Sizes
    preparation: Preparation

    @property
    def batches(self) -> list[PromptBatch]:
        """Scored prompts of all tasks."""
        return [batch for task in self.preparation.study.tasks for batch in self.preparation.of(task.name).scored]

    def operations(self) -> Iterator[tuple[str, int]]:
        """Operations of the runs that all methods share, then of each method, by its label.

        Shared are the runs that say whether a task can be done, those that rows start from, and one that describes the
        heads. Checks on two prompts per task are left out. Methods of one mean share its runs, as the first's.
        """
        sides: tuple[Side, ...] = ("clean", "corrupted")
        shared = (self._forward(batch, side) + self._recorded(batch, side) for batch in self.batches for side in sides)
        yield UNPATCHED, sum(shared) + sum(self._forward(batch, "clean") for batch in self.batches)
        done = set[tuple[str, str]]()
        for spec in self.preparation.study.methods:
            kind, total = reference_kind(spec), sum(self._swept(spec, batch) for batch in self.batches)
            if kind.startswith("other_"):
                total += sum(self._forward(batch, "clean") for batch in self.batches)
            elif kind:
                keys = [("" if kind == "suite" else task.name, kind) for task in self.preparation.study.tasks]
                total += sum(self._reference(*key) for key in dict.fromkeys(keys) if key not in done)
                done |= {*keys}
            if spec.method.intervention.uses_second:
                total += sum(self._recorded(batch, "corrupted") for batch in self.batches)
            yield spec.label, total

    def memory(self, spec: MethodSpec, *, budget: int) -> int:
        """Bytes expected beside the weights; a MemoryLimitError if a sweep cannot be cut to fit into the budget."""
        captured = ROWS if spec.method.intervention.uses_reference else 0
        most = 0
        for batch in self.batches:
            of, first = batch.continued(spec.method.intervention.base), self._first(spec, batch)
            footprint = Footprint.of(self.sizes, of, first=first, path="replayed")
            cut = plan(footprint, rows=self._heads(spec) * self.shape.n_layers, budget=budget)
            most = max(most, footprint.expected(cut.prompts, cut.rows, budget=budget, captured=captured))
        return most

    def storage(self, spec: MethodSpec) -> int:
        """Bytes of the blocks of all tasks, in single precision."""
        values = 4 * len(self.preparation.study.metrics) * (self.shape.n_layers * self._heads(spec) + 2)
        tasks = sum(bool(self.preparation.of(task.name).scored) for task in self.preparation.study.tasks)
        return tasks * _OF_FILE + sum(map(len, self.batches)) * (values + _OF_PROMPT)

    def _swept(self, spec: MethodSpec, batch: PromptBatch) -> int:
        """The sweep of every head, or every group of heads that share keys and values, on a batch."""
        of, first = batch.continued(spec.method.intervention.base), self._first(spec, batch)
        vocabulary, n, steps = reads_vocabulary(self.preparation.study.metrics), len(batch), of.steps
        if first == of.length - 1:
            sizes = {"prompts": n, "length": of.length, "first": first}
            total = flops.swept(self.shape, **sizes, steps=steps, whole_vocabulary=vocabulary and not steps)
        else:
            sizes = {"prompts": n, "length": of.packed_length, "first": first}
            total = flops.swept(self.shape, **sizes, whole_vocabulary=vocabulary)
            total += 2 * steps * n * self.shape.n_layers * self.shape.n_heads * flops.Costs(self.shape).vocabulary
        return (total + flops.bridge_extras(self.shape, **sizes)) * self._heads(spec) // self.shape.n_heads

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
        return sum(flops.forward(self.shape, prompts=len(each), length=each.length, logits=1) for each in batches)

    def _forward(self, batch: PromptBatch, side: Side) -> int:
        of = batch.continued(side)
        n, logits = len(batch) * max(1, len(of.branches)), 1 + of.steps
        return flops.forward(self.shape, prompts=n, length=of.length + of.steps, logits=logits)

    def _recorded(self, batch: PromptBatch, side: Side) -> int:
        of = batch.continued(side)
        sizes = {"prompts": len(batch), "length": of.length, "steps": of.steps}
        return flops.unpatched(self.shape, **sizes, whole_vocabulary=not of.steps)

    def _heads(self, spec: MethodSpec) -> int:
        """Heads of a layer, or groups of them."""
        unit = dict(spec.options).get("unit")
        return self.shape.n_kv_heads if unit == KV_GROUP else self.shape.n_heads


def is_planned(spec: MethodSpec) -> bool:
    """True if a method is a sweep of heads, which is all that can be counted."""
    return isinstance(spec.method, CausalMethod)
