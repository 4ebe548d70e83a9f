"""A causal method as a plain function and as a study runs it: an intervention, where it acts, and what it declares."""

import contextlib
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from headcats.base.errors import DataError
from headcats.methods.spec import Option
from headcats.results.declaration import Declaration
from headcats.results.head_axes import HEAD, UNITS

if TYPE_CHECKING:
    import xarray as xr
    from torch import Tensor

    from headcats.methods.method import TaskInputs
    from headcats.metrics.definition import Metric
    from headcats.models.adapter import HookedModel
    from headcats.prompts.batch import PromptBatch
    from headcats.sweeps.intervention import Intervention
    from headcats.sweeps.memory import MemoryPlan
    from headcats.sweeps.reference import Reference
    from headcats.sweeps.runs import BaseRuns
    from headcats.sweeps.sources import Sources


class CausalMethod:
    """An intervention on heads, made by `hc.methods.causal_method`; a call sweeps all heads over a batch (`hc.sweep`).

    Members take a `model` (`HookedModel`) or unpatched `runs` of one, a `batch` of prompts, `positions` ("last",
    "answer", "all" or a role), a `path` ("hooked", or else one that replays) and the values of `options`: `unit`
    ("head" or "kv_group") and, of a method with references, `reference` (None takes the first).

    Args:
        replacement: Gives z, `(prompt, head, d_head)`, from the sources of a layer; results keep a hash of its source.
        declaration: What the rest of headcats needs to know of the method.
        references: Names of the reference prompts that a study can give it, the default first.
        **acts: `base`, `positions` and the promises of an `Intervention`.

    Example:
        >>> import headcats as hc
        >>> hc.methods.mean_ablation
        <method mean_ablation>
        >>> hc.methods.mean_ablation.positions, hc.methods.mean_ablation.references
        ('all', ('suite', 'task', 'corrupted'))
    """

    scores_prompts_apart = True

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
        self.options["unit"] = UNITS
        self.__doc__ = replacement.__doc__
        self.code, self._acts = replacement, acts

    @cached_property
    def intervention(self) -> "Intervention":
        """Intervention that is made, and where."""
        from headcats.sweeps.intervention import Intervention

        return Intervention(
            self.name,
            replacement=self.code,
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
        unit: str = HEAD,
        path: str = "auto",
        reference: "Reference | PromptBatch | Sequence[PromptBatch] | None" = None,
        memory: str | int | None = None,
    ) -> "xr.Dataset":
        """Sweep all heads over one batch of prompts, as `hc.sweep`.

        Args:
            model: A HookedTransformer, a TransformerBridge, or what `hc.load_model` returns.
            batch: Clean prompts of one length and corrupted prompts of one length.
            metrics: Names of metrics, or functions, all read from the same forward passes.
            positions: "last", "answer", "all", a token role or "each"; None takes the method's own.
            unit: "head", or "kv_group" to replace the heads that share keys and values at once.
            path: "auto" or "hooked".
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
            unit=unit,
            path=path,
            reference=reference,
            memory=memory,
        )

    def takes_padding(self, positions: str) -> bool:
        """True if nothing changes before the last position of the prompts, whose number may differ in a batch then."""
        return positions in ("last", "answer")

    def check_model(self, model: "HookedModel", *, unit: str = HEAD, **options: Any) -> None:
        """Raise an OptionError for options that do not suit a model: groups, where its heads share nothing."""
        from headcats.sweeps.engine import swept_sets

        swept_sets(model, unit)

    def memory_plan(
        self,
        model: "HookedModel",
        batch: "PromptBatch",
        *,
        positions: str,
        n_metrics: int,
        budget: int,
        path: str,
        unit: str = HEAD,
        **options: Any,
    ) -> "MemoryPlan":
        """Plan of a sweep of a batch within `budget` bytes beside the weights; an OptionError if nothing fits."""
        from headcats.methods.causal.on_task import sweep_memory

        return sweep_memory(self.intervention, model, batch, positions=positions, budget=budget, path=path, unit=unit)

    def announce(self, runs: "BaseRuns", *, positions: str, path: str) -> None:
        """Tell the unpatched runs, not made yet, what `on_part` will read of them, so that each is made once."""
        from headcats.sweeps.batch_sweep import announce

        with contextlib.suppress(DataError):  # the role is not aligned: `on_part` says so
            announce(runs, self.intervention, positions=positions, path=path)

    def on_part(
        self, inputs: "TaskInputs", part: str, *, positions: str, reference: str | None = None, unit: str = HEAD
    ) -> "xr.Dataset":
        """The sweep over every batch of the task `part`, joined along `prompt` in the order of its batches.

        As `hc.sweep`, with the attribute `dropped`: prompts that no reference prompt matches, or without a second
        corruption. A DataError if the reference covers less than half of a batch's prompts, no prompt has a second
        corruption, or roles do not align.
        """
        from headcats.methods.causal.on_task import task_block

        kind = (reference or self.references[0]) if self.references else None
        return task_block(self.intervention, inputs, positions=positions, reference=kind, unit=unit)
