"""Causal methods: an intervention that is also a plain function, and that a study can run on a task."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from headcats.errors import DataError, OptionError
from headcats.methods.spec import Option
from headcats.registry import register
from headcats.results.declaration import Declaration, Strength

if TYPE_CHECKING:
    import xarray as xr
    from torch import Tensor

    from headcats.methods.causal.on_task import TaskInputs
    from headcats.metrics.definition import Metric
    from headcats.models.adapter import HookedModel
    from headcats.prompts.batch import PromptBatch
    from headcats.sweeps.intervention import Intervention, Sources
    from headcats.sweeps.memory import MemoryPlan
    from headcats.sweeps.reference import Reference
    from headcats.sweeps.runs import BaseRuns
else:
    # Files of methods name these two and are read without torch.
    Sources = Tensor = Any

__all__ = ["CausalMethod", "Sources", "Tensor", "causal_method"]

_COST = "one patched run per head and prompt; on fast paths a part of it"


class CausalMethod:
    """An intervention on heads, made by `hc.methods.causal_method`; a call sweeps all heads over a batch (`hc.sweep`).

    Args:
        replacement: What z becomes, `(prompt, head, d_head)`, given the sources of the layer.
        declaration: What the rest of headcats needs to know of the method.
        references: Names of the reference prompts that a study can give it, the default first.
        **acts: `base`, `positions` and the promises of an `Intervention`.

    Attributes:
        name: Its name in results and on the command line.
        positions: Where heads are replaced by default: "last", "answer", "all" or a token role.
        references: As given.
        options: Name of an option -> its values, the default first.
        declaration: As given.

    Example:
        >>> import headcats as hc
        >>> hc.methods.mean_ablation
        <method mean_ablation>
        >>> hc.methods.mean_ablation.positions, hc.methods.mean_ablation.references
        ('all', ('suite', 'task', 'corrupted'))
    """

    def __init__(
        self,
        replacement: "Callable[[Sources], Tensor]",
        *,
        declaration: Declaration,
        references: tuple[str, ...] = (),
        **acts: Any,
    ) -> None:
        self.declaration = declaration
        self.name = self.__name__ = declaration.name
        self.positions: str = acts["positions"]
        self.references = references
        self.options: dict[str, Option] = {"reference": references} if references else {}
        self.__doc__ = replacement.__doc__
        self._replacement, self._acts = replacement, acts

    @cached_property
    def intervention(self) -> "Intervention":
        """What is replaced, and where."""
        from headcats.sweeps.intervention import Intervention

        return Intervention(
            self.name,
            replacement=self._replacement,
            uses_reference=bool(self.references),
            unprocessed=self.declaration.unprocessed,
            **self._acts,
        )

    @property
    def why_dropped(self) -> str:
        """Why a study may leave out prompts, in words."""
        if self.references:
            return "match no reference prompt"
        second = "have no second corruption, or one that does not align" if self.intervention.uses_second else ""
        return second or "do not align with their corrupted ones"

    def __repr__(self) -> str:
        return f"<method {self.name}>"

    def __call__(
        self,
        model: Any,
        batch: "PromptBatch",
        *,
        metrics: "Sequence[str | Metric]" = ("logit_diff",),
        positions: str | None = None,
        path: str = "auto",
        reference: "Reference | PromptBatch | Sequence[PromptBatch] | None" = None,
        memory: str | int | None = None,
    ) -> "xr.Dataset":
        """The method on one batch of prompts; see `hc.sweep`.

        Args:
            model: A HookedTransformer, a TransformerBridge, or what `hc.load_model` returns.
            batch: Clean prompts of one length and corrupted prompts of one length.
            metrics: Names of metrics, or functions, all read from the same forward passes.
            positions: "last", "answer", "all" or a token role; None takes the method's own.
            path: "auto", "hooked" or a fast path by name.
            reference: Held-out prompts, for a method that replaces by their mean or a sample.
            memory: Limit beside the model's weights, such as "4GB".

        Returns:
            `patched (metric, prompt, layer, head)`, `clean` and `corrupted (metric, prompt)`, in each metric's unit.

        Raises:
            UnknownNameError, OptionError, DataError, ModelError: As `hc.sweep`.
        """
        from headcats.sweeps.batch_sweep import sweep

        return sweep(
            model,
            batch,
            self.intervention,
            metrics=metrics,
            positions=positions,
            path=path,
            reference=reference,
            memory=memory,
        )

    def work(self, model: "HookedModel", batch: "PromptBatch", *, positions: str, path: str) -> int:
        """Tokens times blocks that a sweep of a batch computes; as if at all positions where a role is not aligned.

        Args:
            model: The model.
            batch: The prompts.
            positions: "last", "answer", "all" or a role.
            path: "hooked", or else a path that replays.
        """
        base, n_layers = batch.continued(self.intervention.base), model.n_layers
        if path == "hooked":
            return sum(model.n_heads.values()) * n_layers * base.rows.numel()
        tokens = len(base) * (base.packed_length - self._first_change(batch, positions))
        return tokens * sum(heads * (n_layers - layer) for layer, heads in model.n_heads.items())

    def _first_change(self, batch: "PromptBatch", positions: str) -> int:
        from headcats.sweeps.sources import first_change

        try:
            mask = batch.positions(positions, of=self.intervention.base)
            return first_change(self.intervention, batch, mask)
        except DataError:
            return 0

    def memory_plan(
        self, model: "HookedModel", batch: "PromptBatch", *, positions: str, n_metrics: int, budget: int, path: str
    ) -> "MemoryPlan":
        """How a sweep of a batch is cut to fit into memory.

        Args:
            model: The model.
            batch: The prompts.
            positions: "last", "answer", "all" or a role.
            n_metrics: Number of metrics.
            budget: Bytes beside the weights.
            path: "hooked", or a path that replays.

        Raises:
            OptionError: Nothing fits.
        """
        from headcats.sweeps.memory import Footprint, plan

        continued = batch.continued(self.intervention.base)
        footprint = Footprint.of(model, continued, first=self._first_change(batch, positions), path=path)
        return plan(footprint, rows=sum(model.n_heads.values()), budget=budget)

    def announce(self, runs: "BaseRuns", *, positions: str, path: str) -> None:
        """Tell the unpatched runs what `on_task` will read of them, so that each is made once.

        Args:
            runs: Unpatched runs of a batch, not made yet.
            positions: "last", "answer", "all" or a role.
            path: As in `hc.sweep`.
        """
        from headcats.sweeps.batch_sweep import announce

        with contextlib.suppress(DataError):  # the role is not aligned: `on_task` says so
            announce(runs, self.intervention, positions=positions, path=path)

    def on_task(self, inputs: "TaskInputs", *, positions: str, reference: str | None = None) -> "xr.Dataset":
        """The sweep over every batch of a task, joined along `prompt` in the order of the task's prompts.

        Args:
            inputs: The task's batches, their base runs and the references.
            positions: "last", "answer", "all" or a role.
            reference: One of `options["reference"]`; None takes the first.

        Returns:
            As `hc.sweep`, with the attribute `dropped`: prompts that no reference prompt matches, or without a second
            corruption.

        Raises:
            DataError: The reference covers less than half of a batch's prompts, no prompt has a second corruption, or
                roles do not align.
        """
        from headcats.methods.causal.on_task import task_block

        kind = (reference or self.references[0]) if self.references else None
        return task_block(self.intervention, inputs, positions=positions, reference=kind)


def causal_method(
    *,
    base: str,
    positions: str,
    references: tuple[str, ...] = (),
    keeps_agreement: bool = False,
    uses_second: bool = False,
    declares: Declaration | None = None,
) -> "Callable[[Callable[[Sources], Tensor]], CausalMethod]":
    """Decorator: turn `replacement(sources) -> z` into a registered causal method of the function's name.

    Args:
        base: Run in which heads are replaced, "clean" or "corrupted".
        positions: Where by default: "last", "answer", "all" or a token role.
        references: Reference prompts that a study can give it ("suite", "task", "corrupted", "other_tasks",
            "other_items"), the default first; empty for none.
        keeps_agreement: See `Intervention`.
        uses_second: See `Intervention`.
        declares: What else the method declares; its name, its strength (the effect) and its cost are filled in.

    Returns:
        The decorator; it makes a `CausalMethod` of the function.

    Raises:
        OptionError: Another base, or no positions.
        DataError: A name that cannot be one of results or files.

    Example:
        >>> import headcats as hc
        >>> @hc.methods.causal_method(base="clean", positions="last")
        ... def half_ablation(sources):
        ...     return sources.clean / 2
        >>> batch = hc.PromptBatch.from_tokens([[0, 10, 3, 11]], [[0, 10, 3, 12]], [20], [21])
        >>> hc.sweep(hc.load_model("mini"), batch, "half_ablation").patched.shape
        (1, 1, 6, 8)

    References:
        Heimersheim & Nanda (2024), arXiv 2404.15255, for what can be replaced by what.
    """
    if base not in ("clean", "corrupted"):
        raise OptionError(f"base must be 'clean' or 'corrupted'; got {base!r}.")
    if not isinstance(positions, str) or not positions:
        raise OptionError(f"positions must be 'last', 'all' or a token role; got {positions!r}.")

    def decorate(replacement: "Callable[[Sources], Tensor]") -> CausalMethod:
        about = declares or Declaration()
        strength, cost = about.strength or Strength(), about.cost or _COST
        method = CausalMethod(
            replacement,
            declaration=replace(about, name=replacement.__name__, strength=strength, cost=cost),
            references=references,
            base=base,
            positions=positions,
            keeps_agreement=keeps_agreement,
            uses_second=uses_second,
        )
        return register("method", method.name, method)

    return decorate
