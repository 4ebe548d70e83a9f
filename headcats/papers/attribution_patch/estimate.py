"""Attribution patching: a first-order approximation of denoising patches, from one backward pass."""

from collections.abc import Callable, Sequence
from typing import Any

import xarray as xr

from headcats.base.errors import OptionError
from headcats.base.registry import names
from headcats.methods.causal.on_task import matched_blocks
from headcats.methods.method import TaskInputs
from headcats.methods.spec import Option, WholeNumber, check_whole
from headcats.metrics.definition import Metric, Metrics, metric_name, metric_traits
from headcats.models.adapter import HookedModel
from headcats.papers.gradients import estimated_changes, gradient_plan
from headcats.prompts.batch import PromptBatch
from headcats.results.block_schema import join_batches, mark_noise
from headcats.sweeps.batch_sweep import checked_runs
from headcats.sweeps.engine import measured_noise
from headcats.sweeps.labels import labelled, model_provenance
from headcats.sweeps.memory import MemoryPlan
from headcats.sweeps.paths import Choice
from headcats.sweeps.runs import BaseRuns

_IG_STEPS = WholeNumber(default=0)


class AttributionPatch:
    """First-order approximation of denoising_patch for all heads, from one backward pass.

    `patched = corrupted + sum over positions of d metric / d z[layer, head] * (z_clean - z_corrupted)`. Nothing is
    patched: results carry the attribute `approximation`, are labelled as approximate wherever they appear, and never
    combined with exact ones. Effect = (patched - corrupted) / gap as for denoising_patch, positive = the head helps.

    The gradient is taken at the corrupted run (`ig_steps=0`), or averaged over `ig_steps` runs on the straight path
    from the corrupted to the clean embeddings (integrated gradients).

    Use it to choose heads to patch exactly, not for the verdict. On trained toy models it ranks patches well (Spearman
    .91 to .98 with the exact effects; on the bundled model at the last position .97 in the median of 40 tasks, .70 at
    worst). `ig_steps=4` halves the mean error of the bundled model's effects but ranks them worse (median .86 of 9
    tasks), and more steps change nothing. A metric that is flat at the corrupted run, such as a probability near 0,
    needs `ig_steps`. Ablations have no such approximation: where the answer is nearly certain a gradient says nothing
    about them (Spearman .03 to .2). At the last position alone the fast exact sweep is cheaper.

    Example:
        >>> import headcats as hc
        >>> batch = hc.PromptBatch.from_tokens([[0, 10, 3, 11]], [[0, 10, 3, 12]], [20], [21])
        >>> ds = hc.methods.attribution_patch(hc.load_model("mini"), batch)
        >>> ds.patched.dims, ds.attrs["approximation"]
        (('metric', 'prompt', 'layer', 'head'), 'first order')

    References:
        Nanda (2023), https://www.neelnanda.io/mechanistic-interpretability/attribution-patching; Kramar et al. (2024),
        AtP*, arXiv 2403.00745; Hanna et al. (2024), EAP-IG, arXiv 2403.17806.
    """

    name = "attribution_patch"
    positions = "last"
    scores_prompts_apart = True

    def __init__(self) -> None:
        self.options: dict[str, Option] = {"ig_steps": _IG_STEPS}

    def __call__(
        self,
        model: Any,
        batch: PromptBatch,
        *,
        metrics: Sequence[str | Metric] = ("logit_diff",),
        positions: str | None = None,
        ig_steps: int = 0,
        memory: str | int | None = None,
    ) -> xr.Dataset:
        """The approximation on one batch of prompts.

        Args:
            model: A HookedTransformer, a TransformerBridge, or what `hc.load_model` returns.
            batch: Clean prompts of one length and corrupted prompts of one length.
            metrics: Smooth metrics, by name or as functions (not `rank` or `accuracy`, whose gradient is 0); one
                backward pass each.
            positions: "last" (default), "answer", "all" or a token role.
            ig_steps: Points on the path from the corrupted to the clean embeddings, each one more forward and backward
                pass; 0 takes the gradient at the corrupted run.
            memory: Limit beside the model's weights, as in `hc.sweep`.

        Returns:
            As `hc.sweep`, with `patched` estimated, and the attributes `approximation` ("first order" or "integrated
            gradients, N steps"), `path` "gradient" and `base` "corrupted".

        Raises:
            OptionError: A metric without a useful gradient, or `ig_steps` no whole number of at least 0.
            ModelError: A model that gives no gradient, or as in `hc.sweep`.
            UnknownNameError, DataError: As in `hc.sweep`.
        """
        ig_steps = check_whole(_IG_STEPS, ig_steps, name="ig_steps", method=self.name)
        runs = checked_runs(model, batch, metrics=metrics, path="auto", memory=memory)
        self.check_metrics(metrics)
        return self._on_batch(runs, tuple(metrics), positions or self.positions, ig_steps)

    def check_metrics(self, metrics: Sequence[str | Metric]) -> None:
        """Raises OptionError for a metric whose gradient is 0; the message names those that can be used."""
        for metric in metrics:
            if not metric_traits(metric).smooth:
                smooth = ", ".join(name for name in names("metric") if metric_traits(name).smooth)
                raise OptionError(
                    f"{self.name} needs a metric with a gradient, and {metric_name(metric)!r} counts: its gradient is "
                    f"0. Use {smooth}, or an exact method."
                )

    def on_part(self, inputs: TaskInputs, part: str, *, positions: str, ig_steps: int = 0) -> xr.Dataset:
        """The approximation over every batch of a task, as `CausalMethod.on_part`."""
        self.check_metrics(inputs.metrics)
        blocks = matched_blocks(
            inputs.runs, lambda runs: self._on_batch(runs, inputs.metrics, positions, ig_steps, inputs.advance)
        )
        return join_batches(blocks)

    def memory_plan(
        self, model: HookedModel, batch: PromptBatch, *, n_metrics: int, budget: int, **options: Any
    ) -> MemoryPlan:
        """See `headcats.papers.gradients.gradient_plan`."""
        return gradient_plan(model, batch, n_metrics=n_metrics, budget=budget)

    def announce(self, runs: BaseRuns, *, positions: str, path: str) -> None:
        """Nothing: the backward pass is a run of its own."""

    def _on_batch(
        self,
        runs: BaseRuns,
        metrics: Metrics,
        positions: str,
        ig_steps: int,
        advance: Callable[[int], None] = lambda heads: None,
    ) -> xr.Dataset:
        mask = runs.batch.positions(positions, of="corrupted")
        estimate = estimated_changes(runs, metrics=metrics, mask=mask, ig_steps=ig_steps, advance=advance)
        model = runs.model
        provenance = {
            "method": self.name,
            "base": "corrupted",
            "positions": positions,
            "path": "gradient",
            "approximation": f"integrated gradients, {ig_steps} steps" if ig_steps else "first order",
            "reference": "none",
            **model_provenance(model),
        }
        corrupted = runs.measured(metrics, runs.corrupted).cpu()
        patched = corrupted[:, :, None, None] + estimate
        ds = labelled(runs, metrics, patched, model.axes, provenance, over=("layer", "head"))
        first = min(int(mask.any(0).nonzero()[0]), runs.batch.corrupted.shape[1] - 1)
        noise = measured_noise(runs, "corrupted", metrics, first=first, choice=Choice("hooked", ""))
        return mark_noise(ds, noise)
