"""Causal methods: an intervention that is also a plain function, and that a study can run on a task."""

from collections.abc import Callable, Sequence
from typing import Any

import xarray as xr
from torch import Tensor

from headcats.errors import DataError
from headcats.methods.joining import join_batches
from headcats.methods.options import Option
from headcats.methods.task_inputs import TaskInputs
from headcats.prompts.batch import PromptBatch
from headcats.registry import register
from headcats.sweeps.batch_sweep import sweep, sweep_runs
from headcats.sweeps.donors import UncoveredRoles
from headcats.sweeps.intervention import Base, Intervention, Sources
from headcats.sweeps.reference import Reference
from headcats.sweeps.runs import BaseRuns


class CausalMethod:
    """One way to intervene on heads. Calling it sweeps all heads of a model over one batch (see `hc.sweep`).

    `hc.methods.causal_method` makes one; it is not made by hand.

    Args:
        intervention: What replaces z, in which run, and where by default.
        references: Names of the reference prompts that a study can give it, the default first.
        doc: What it says of itself.

    Attributes:
        name: Its name in results and on the command line.
        positions: Where heads are replaced by default: "last", "all" or a token role.
        references: As given.
        options: Name of an option -> its values, the default first.
        scope: "task": it is scored task by task.

    Example:
        >>> import headcats as hc
        >>> hc.methods.mean_ablation
        <method mean_ablation>
        >>> hc.methods.mean_ablation.positions, hc.methods.mean_ablation.references
        ('all', ('suite', 'task', 'corrupted'))
    """

    scope = "task"

    def __init__(self, intervention: Intervention, references: tuple[str, ...], doc: str | None) -> None:
        self.intervention = intervention
        self.name = intervention.name
        self.positions = intervention.positions
        self.references = references
        self.options: dict[str, Option] = {"reference": references} if references else {}
        self.__doc__ = doc
        self.__name__ = intervention.name

    @property
    def why_dropped(self) -> str:
        """What is said of prompts that a study left out."""
        lacks = ["have no second corruption"] if self.intervention.uses_second else []
        return " or ".join([*lacks, *(["have token roles without reference prompts"] if self.references else [])])

    def __repr__(self) -> str:
        return f"<method {self.name}>"

    def __call__(
        self,
        model: Any,
        batch: PromptBatch,
        *,
        metrics: Sequence[str] = ("logit_diff",),
        positions: str | None = None,
        path: str = "auto",
        reference: Reference | PromptBatch | Sequence[PromptBatch] | None = None,
        memory: str | int | None = None,
    ) -> xr.Dataset:
        """The method on one batch of prompts; as `hc.sweep` with it.

        Args:
            model: A HookedTransformer, a TransformerBridge, or what `hc.load_model` returns.
            batch: Clean and corrupted prompts of one length.
            metrics: Names of metrics, all read from the same forwards.
            positions: "last", "all" or a token role; None takes the method's own.
            path: "auto", "hooked" or a fast path by name.
            reference: Held-out prompts, where the method takes a mean or a sample of them.
            memory: Limit beside the model's weights, such as "4GB".

        Returns:
            `patched (metric, prompt, layer, head)`, `clean` and `corrupted (metric, prompt)`, in each metric's own
            unit.

        Raises:
            UnknownNameError, OptionError, DataError, ModelError: As `hc.sweep`.
        """
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

    def on_task(self, inputs: TaskInputs, *, positions: str, reference: str | None = None) -> xr.Dataset:
        """The sweep over every batch of a task, joined along `prompt` in the order of the task's prompts.

        Args:
            inputs: The task's batches, their base runs and the references.
            positions: "last", "all" or a role.
            reference: One of `options["reference"]`; None takes the first.

        Returns:
            As `hc.sweep`, with the attribute `dropped`: prompts left out because the reference does not show one of
            their token roles, or because they have no second corruption where it is read.

        Raises:
            DataError: The reference does not cover half of a batch's prompts, no prompt has a second corruption, or
                roles do not align.
        """
        chosen = inputs.reference(reference or self.references[0]) if self.references else None
        lacking = [runs.batch.lacks_second() if self.intervention.uses_second else [] for runs in inputs.runs]
        parts = [
            self._on_batch(runs, inputs, positions, chosen or Reference(runs.batch), left_out)
            for runs, left_out in zip(inputs.runs, lacking, strict=True)
            if len(left_out) < len(runs.batch)
        ]
        if not parts:
            raise DataError(
                f"{self.name} needs a second corruption, and none of the {sum(map(len, lacking))} prompts has one: no "
                "other distractor task answers their demonstrations in as many tokens, and their labels have no other "
                "wrong order."
            )
        joined = join_batches(parts)
        everything = sum(len(runs.batch) for runs in inputs.runs)
        return joined.assign_attrs(dropped=everything - joined.sizes["prompt"])

    def _on_batch(
        self, runs: BaseRuns, inputs: TaskInputs, positions: str, reference: Reference, left_out: Sequence[int]
    ) -> xr.Dataset:
        """The sweep over one batch, without the prompts `left_out`, and the few whose token roles the reference does
        not cover.

        Raises:
            UncoveredRoles: It does not cover half of the prompts.
        """
        try:
            block = self._sweep(runs, inputs, positions, reference)
        except UncoveredRoles as problem:
            kept = [prompt for prompt in range(len(runs.batch)) if prompt not in problem.prompts]
            if 2 * len(kept) < len(runs.batch):
                raise
            block = self._sweep(runs.select(kept), inputs, positions, reference)
        if left_out:
            # Swept with the others: unpatched runs of the others alone would cost more.
            keys = {runs.batch.keys[prompt] for prompt in left_out}
            block = block.isel(prompt=[place for place, key in enumerate(block.key.values) if key not in keys])
        return block.assign_attrs(dropped=len(runs.batch) - block.sizes["prompt"])

    def _sweep(self, runs: BaseRuns, inputs: TaskInputs, positions: str, reference: Reference) -> xr.Dataset:
        return sweep_runs(
            runs,
            self.intervention,
            metrics=inputs.metrics,
            positions=positions,
            reference=reference,
            path=inputs.path,
            advance=inputs.advance,
        )


def causal_method(
    *,
    base: Base,
    positions: str,
    references: tuple[str, ...] = (),
    keeps_agreement: bool = False,
    uses_second: bool = False,
) -> Callable[[Callable[[Sources], Tensor]], CausalMethod]:
    """Decorator: turn `replacement(sources) -> z` into a registered causal method of the function's name.

    Args:
        base: Run in which heads are replaced, "clean" or "corrupted".
        positions: Where by default: "last", "all" or a token role.
        references: Names of the reference prompts a study can give it ("suite", "task", "corrupted", "other_tasks",
            "other_items"), the default first; empty for a replacement that needs none.
        keeps_agreement: See `Intervention`.
        uses_second: See `Intervention`.

    Returns:
        The decorator; it makes a `CausalMethod` of the function.

    Raises:
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

    def decorate(replacement: Callable[[Sources], Tensor]) -> CausalMethod:
        name = replacement.__name__
        intervention = Intervention(name, base, replacement, positions, bool(references), keeps_agreement, uses_second)
        return register("method", name, CausalMethod(intervention, references, replacement.__doc__))

    return decorate
