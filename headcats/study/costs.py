"""Operations, memory and storage of the parts of a study, from the shape of a model and the prompts of a task."""

from dataclasses import dataclass

from headcats.errors import DataError
from headcats.methods.causal.method import CausalMethod
from headcats.methods.spec import MethodSpec
from headcats.metrics.definition import reads_vocabulary
from headcats.models.shape import ModelShape
from headcats.prompts.batch import PromptBatch
from headcats.prompts.packing import Side
from headcats.results.head_axes import KV_GROUP
from headcats.study.preparation import Preparation
from headcats.study.references import reference_kind
from headcats.sweeps import flops
from headcats.sweeps.memory import Footprint, MemoryPlan, plan
from headcats.sweeps.role_sums import ROWS
from headcats.sweeps.sizes import Sizes
from headcats.sweeps.sources import first_change

# A block beside its values: groups, attributes and types of HDF5, and three texts for every prompt.
_OF_FILE, _OF_PROMPT = 17_500, 130


@dataclass(frozen=True)
class Work:
    """What a part of a study computes and reads.

    Attributes:
        operations: Floating-point operations of matrix products.
        traffic: Bytes of weights that are read from memory: those of every layer once per walk through the model.
    """

    operations: float = 0.0
    traffic: float = 0.0

    def __add__(self, other: "Work") -> "Work":
        return Work(self.operations + other.operations, self.traffic + other.traffic)


@dataclass(frozen=True)
class Counting:
    """Counts operations, memory and storage of the parts of a study, on a sample of its prompts.

    Attributes:
        shape: Sizes of the model.
        sizes: Those that decide on memory, as the plan of a sweep takes them.
        preparation: The study with its prompts, or a sample of them.
        scale: How many prompts of the study one of the sample stands for.
        budget: Bytes that a sweep may use beside the weights.
    """

    shape: ModelShape
    sizes: Sizes
    preparation: Preparation
    scale: float
    budget: int

    def unpatched(self, batch: PromptBatch) -> Work:
        """Runs of a batch that all sweeps share: to see whether its task can be done, to replay, to describe heads.

        Checks on two prompts per task are left out.
        """
        both = self._forward(batch, "clean") + self._forward(batch, "corrupted")
        recorded = self._recorded(batch, "clean") + self._recorded(batch, "corrupted")
        return both + recorded + self._forward(batch, "clean")

    def method_runs(self, spec: MethodSpec, batch: PromptBatch) -> Work:
        """Unpatched runs that one method alone needs: of donors, or of a second corruption."""
        kind = reference_kind(spec)
        donors = self._forward(batch, "clean") if kind.startswith("other_") else Work()
        second = self._recorded(batch, "corrupted") if spec.method.intervention.uses_second else Work()
        return donors + second

    def reference_runs(self) -> dict[MethodSpec, Work]:
        """Runs of the reference prompts that means are taken over; two methods of one mean share them, as the first's.

        No runs for a task without such prompts: the study says so, and skips the block.
        """
        done: set[tuple[str, str]] = set()
        works: dict[MethodSpec, Work] = {}
        for spec in self.preparation.study.methods:
            works[spec], kind = Work(), reference_kind(spec)
            if not kind or kind.startswith("other_"):  # donors, which are run for each batch
                continue
            for task in self.preparation.study.tasks:
                key = ("" if kind == "suite" else task.name, kind)
                if key not in done:
                    done.add(key)
                    works[spec] += self._reference_run(task.name, kind)
        return works

    def _reference_run(self, task: str, kind: str) -> Work:
        try:
            batches = self.preparation.references.of(task, kind).batches
        except DataError:
            return Work()
        total = Work()
        for batch in batches:
            sizes = {"prompts": len(batch), "length": batch.length}
            total += Work(flops.forward(self.shape, **sizes, logits=1), self._walks(len(batch) / ROWS))
        return total

    def sweep(self, spec: MethodSpec, batch: PromptBatch) -> Work:
        """The sweep of every head, or every group of heads that share keys and values, on a batch."""
        shape, intervention = self.shape, spec.method.intervention
        continued, first = batch.continued(intervention.base), self._first(spec, batch)
        n, length, steps = self.prompts(batch), continued.length, continued.steps
        packed = {"prompts": n, "length": continued.packed_length, "first": first}
        vocabulary = reads_vocabulary(self.preparation.study.metrics)
        if first == length - 1 and steps:
            operations = flops.answers(shape, prompts=n, length=length, steps=steps)
        elif first == length - 1:
            operations = flops.last_position(shape, prompts=n, length=length, whole_vocabulary=vocabulary)
        else:
            operations = flops.suffix(shape, **packed, whole_vocabulary=vocabulary)
            operations += flops.unread_queries(shape, **packed)
            operations += 2 * steps * n * shape.n_layers * shape.n_heads * 2 * shape.d_model * shape.d_vocab
        operations += flops.fresh_rows(shape, **packed)
        cut, rows = self.memory(spec, batch), self._rows(spec)
        # A walk begins in the layer of its first head: of several, the later ones are shorter.
        walks = -(-rows // cut.rows)
        traffic = self._walks(-(-n // cut.prompts) * (walks + 1) / 2)
        return Work(operations * rows / (shape.n_layers * shape.n_heads), traffic)

    def memory(self, spec: MethodSpec, batch: PromptBatch) -> MemoryPlan:
        """How a sweep of a batch is cut to fit into the budget; a MemoryLimitError if nothing fits."""
        return plan(self._footprint(spec, batch), rows=self._rows(spec), budget=self.budget)

    def activations(self, spec: MethodSpec, batch: PromptBatch) -> tuple[int, int]:
        """Bytes expected beside the weights during a sweep, and those that runs of reference prompts add to them."""
        cut, footprint = self.memory(spec, batch), self._footprint(spec, batch)
        size = cut.prompts, cut.rows
        captured = ROWS if spec.method.intervention.uses_reference else 0
        alone, both = (footprint.expected(*size, budget=self.budget, captured=more) for more in (0, captured))
        return alone, both - alone

    def storage(self, spec: MethodSpec, n_prompts: int) -> int:
        """Bytes of the file of a block, in single precision."""
        metrics, shape = len(self.preparation.study.metrics), self.shape
        heads = shape.n_layers * (shape.n_kv_heads if _unit(spec) == KV_GROUP else shape.n_heads)
        return 4 * metrics * n_prompts * (heads + 2) + _OF_FILE + _OF_PROMPT * n_prompts

    def _footprint(self, spec: MethodSpec, batch: PromptBatch) -> Footprint:
        of = batch.continued(spec.method.intervention.base)
        first = self._first(spec, batch)
        return Footprint(self.sizes, self.prompts(batch), of.length, first, "replayed", len(of.branches), of.steps)

    def _first(self, spec: MethodSpec, batch: PromptBatch) -> int:
        intervention = spec.method.intervention
        try:
            mask = batch.positions(spec.positions, of=intervention.base)
            return first_change(intervention, batch, mask)
        except DataError:
            return 0

    def _forward(self, batch: PromptBatch, side: Side) -> Work:
        of = batch.continued(side)
        n, logits = self.prompts(batch) * max(1, len(of.branches)), 1 + of.steps
        return Work(flops.forward(self.shape, prompts=n, length=of.length + of.steps, logits=logits), self._walks(1))

    def _recorded(self, batch: PromptBatch, side: Side) -> Work:
        of, n = batch.continued(side), self.prompts(batch)
        if of.steps:
            operations = flops.unpatched_answers(self.shape, prompts=n, length=of.length, steps=of.steps)
        else:
            operations = flops.unpatched(self.shape, prompts=n, length=of.length, whole_vocabulary=True)
        return Work(operations, self._walks(1))

    def prompts(self, batch: PromptBatch) -> int:
        """Prompts of the study that a batch stands for."""
        return max(1, round(self.scale * len(batch)))

    def _walks(self, walks: float) -> float:
        return walks * self.shape.n_layers * self.shape.block_weights * self.sizes.number

    def _rows(self, spec: MethodSpec) -> int:
        of_layer = self.shape.n_kv_heads if _unit(spec) == KV_GROUP else self.shape.n_heads
        return self.shape.n_layers * of_layer


def is_planned(spec: MethodSpec) -> bool:
    """Whether a method is a sweep of heads, which is all that can be counted."""
    return isinstance(spec.method, CausalMethod)


def _unit(spec: MethodSpec) -> str:
    return str(dict(spec.options).get("unit", ""))
