"""Gradient of metrics with respect to the outputs of all heads, from one backward pass per metric.

It is read from zeros that are added to z, the only leaf tensors: the weights' `.grad` stay as they are.
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headcats.base.errors import MemoryLimitError, ModelError, OptionError
from headcats.base.guard import is_out_of_memory
from headcats.metrics.definition import Metrics, Targets, measure, metric_name
from headcats.models.adapter import HookedModel
from headcats.models.checks import check_residual
from headcats.models.continued import Continued
from headcats.models.hooks import Edit, hook_before, hook_z, keeping
from headcats.models.weights import resident_bytes
from headcats.prompts.alignment import aligned_places, at_places
from headcats.prompts.batch import PromptBatch
from headcats.prompts.batch_checks import UnmatchedPrompts
from headcats.sweeps import memory
from headcats.sweeps.hooked import rest_of_rows
from headcats.sweeps.runs import BaseRuns
from headcats.sweeps.within_memory import in_parts

_EMBEDDINGS = hook_before(0)
# Larger parts are no faster, and prompts are cut in the same places however much memory a machine has.
KEPT_BYTES = 1 << 30
# What the backward pass of a block takes beside all that is kept: up to a tenth at a GPT-2-small shape, both classes.
_BESIDE = 1.15


def estimated_changes(
    runs: BaseRuns,
    *,
    metrics: Metrics,
    mask: Bool[Tensor, "prompt pos"],
    ig_steps: int,
    advance: Callable[[int], None] = lambda heads: None,
) -> Float[Tensor, "metric prompt layer head"]:
    """First-order change of each metric if one head of the corrupted run gave its clean output, fp32 on the CPU.

    `sum over masked positions of d metric / d z[layer, head] * (z_clean - z_corrupted)`, the gradient taken at the
    corrupted run or, for `ig_steps` above 0, averaged over runs that start from the embeddings `corrupted + a (clean -
    corrupted)`, a = (i + 1/2) / ig_steps. NaN for heads a layer lacks.
    """
    model, batch = runs.model, runs.batch
    n, heads = len(batch), sum(model.n_heads.values())
    clean_logits = runs.clean.logits
    places = aligned_places(batch, mask, base="corrupted", source="clean", tokenizer=model.tokenizer)
    if ig_steps and (places is not None or batch.clean.shape != batch.corrupted.shape):
        raise UnmatchedPrompts(
            f"The clean and corrupted prompts of {batch.keys[0]!r} do not match token by token, so no straight path "
            "leads from one to the other: leave ig_steps out, or take prompts that do.",
            range(n),
        )

    def changes(rows: slice) -> Tensor:
        part = batch.select(range(rows.start, rows.stop))
        targets = Targets(part.answer.to(model.device), part.distractor.to(model.device), clean_logits[rows])
        of_part = None if places is None else places[rows]
        return _changes(model, part, targets, metrics=metrics, mask=mask[rows], places=of_part, ig_steps=ig_steps)

    with leaving_no_graph(model):
        # The path ends at the clean run if tokens act through the residual stream before the first block alone.
        if ig_steps and (different := (batch.clean != batch.corrupted).any(1).nonzero().flatten().tolist()[:2]):
            check_residual(model, batch.clean[different], batch.corrupted[different])
        shape = (len(metrics), n, len(model.layers), model.max_heads)
        estimate = torch.empty(shape, dtype=torch.float32, device="cpu")
        at_a_time = gradient_plan(model, batch, n_metrics=len(metrics), budget=runs.budget).prompts
        for rows, part in in_parts(changes, n, at_a_time, devices=model.devices):
            estimate[:, rows] = part
            advance(heads * rows.stop // n - heads * rows.start // n)
    return estimate


def _changes(
    model: HookedModel,
    batch: PromptBatch,
    targets: Targets,
    *,
    metrics: Metrics,
    mask: Bool[Tensor, "prompt packed"],
    places: Int[Tensor, "prompt packed"] | None,
    ig_steps: int,
) -> Float[Tensor, "metric prompt layer head"]:
    """`estimated_changes` of prompts that fit into memory together; gradients of a prompt's rows add up."""
    continued, of_clean = batch.continued("corrupted"), batch.continued("clean")
    row_mask = continued.unpack(mask)
    first = int(row_mask.any(0).nonzero()[0])
    width = continued.packed_length - first
    _, clean = model.capture(of_clean.rows, first=of_clean.packed_length - width if places is None else 0)
    _, corrupted = model.capture(continued.rows, first=first)
    difference = {}
    for layer in model.layers:
        counts = row_mask[:, first:, None, None].to(clean[layer].device)
        donor = continued.unpack(at_places(of_clean.pack(clean[layer]), places, width=width))
        difference[layer] = torch.where(counts, donor.float() - corrupted[layer].float(), 0.0)
    del clean, corrupted
    shape = (len(metrics), len(batch), len(model.layers), model.max_heads)
    total = torch.full(shape, float("nan"), dtype=torch.float32, device="cpu")
    for place, layer in enumerate(model.layers):
        total[:, :, place, : model.n_heads[layer]] = 0
    for start in _starts(model, batch, ig_steps):
        for m, gradients in enumerate(_gradients(model, continued, targets, metrics, start)):
            for place, layer in enumerate(model.layers):
                of_rows = (gradients[layer][:, first:].float() * difference[layer]).sum((1, 3)).cpu()
                change = of_rows.unflatten(0, (-1, len(batch))).sum(0)
                if not bool(change.isfinite().all()):
                    raise ModelError(
                        f"Gradients of {metric_name(metrics[m])!r} hold NaN or infinite values on model "
                        f"{model.name!r}: the metric has none there, or {model.dtype} overflows (then load the model "
                        "in float32)."
                    )
                total[m, :, place, : change.shape[1]] += change
    return total / max(1, ig_steps)


def _gradients(
    model: HookedModel, continued: Continued, targets: Targets, metrics: Metrics, start: Mapping[str, Edit]
) -> list[dict[int, Float[Tensor, "row pos head d_head"]]]:
    """Per metric, layer -> d metric / d z of every row, all from one forward pass."""
    with model.lock, torch.enable_grad():
        logits, zeros = _traced(model, continued, start)
        first, rest = logits[: len(continued), 0], rest_of_rows(continued, logits[:, 1:])
        # Prompts do not see each other, so the gradient of the sum is that of each prompt.
        values = [measure((name,), first, targets, rest=rest).sum() for name in metrics]
        if constant := [name for name, value in zip(metrics, values, strict=True) if not value.requires_grad]:
            raise OptionError(
                f"Metric {metric_name(constant[0])!r} gives no gradient: declare it with @metric(smooth=False), and "
                f"use an exact method for it."
            )
        gradients = []
        for value in values:
            keeps = value is not values[-1]
            of_zeros = torch.autograd.grad(value, list(zeros.values()), retain_graph=keeps, allow_unused=True)
            gradients.append(dict(zip(zeros, of_zeros, strict=True)))
        if missing := [layer for layer, gradient in gradients[0].items() if gradient is None]:
            raise ModelError(_no_gradient(model, f"the heads of layer {missing[0]}"))
    return gradients


def _traced(
    model: HookedModel, continued: Continued, start: Mapping[str, Edit]
) -> tuple[Float[Tensor, "row read d_vocab"], dict[int, Tensor]]:
    """Logits, where they are read, that lead back to zeros added to z of each layer, and these zeros."""
    zeros: dict[int, Tensor] = {}

    def add(layer: int, z: Tensor) -> Tensor:
        zeros[layer] = torch.zeros_like(z, requires_grad=True)
        return z + zeros[layer]

    hooks: dict[str, Edit] = {**start, **{hook_z(layer): partial(add, layer) for layer in model.layers}}
    logits = model.forward_last(continued.rows, continued.steps + 1, hooks=hooks)
    if not logits.requires_grad:
        raise ModelError(_no_gradient(model, "any head"))
    return logits, zeros


def _starts(model: HookedModel, batch: PromptBatch, ig_steps: int) -> Iterator[Mapping[str, Edit]]:
    """Edits that begin a corrupted run at each point of the path; none for the corrupted run itself."""
    if not ig_steps:
        yield {}
        return
    embeddings: dict[str, Tensor] = {}
    for name in ("clean", "corrupted"):
        model.run(batch.continued(name).rows, hooks={_EMBEDDINGS: keeping(embeddings, name)})
    for step in range(ig_steps):
        point = torch.lerp(embeddings["corrupted"], embeddings["clean"], (step + 0.5) / ig_steps)
        yield {_EMBEDDINGS: lambda value, point=point: point}  # type: ignore[misc]


def gradient_plan(model: HookedModel, batch: PromptBatch, *, n_metrics: int, budget: int) -> memory.MemoryPlan:
    """Plan prompts to differentiate at a time: all, or a power of two; a MemoryLimitError if not one fits.

    Measured with one and two prompts: HookedTransformer keeps rearranged weights as well, once for all prompts.
    """
    n, measured = len(batch), list[int]()
    with leaving_no_graph(model):
        for k in range(1, min(n, 2) + 1):
            try:
                measured.append(_bytes_kept(model, batch.select(range(k)), n_metrics=n_metrics))
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                break
    if not measured or measured[0] > budget:
        needs = f"about {memory.readable_bytes(measured[0])}" if measured else "more than there is"
        raise MemoryLimitError(
            f"The gradient of one prompt of {batch.length} tokens keeps {needs} of activations of model "
            f"{model.name!r}; the limit is {memory.readable_bytes(budget)}. Raise it (--memory, memory=...), take "
            f"shorter prompts, or patch exactly, which keeps none."
        )
    first, room = measured[0], min(budget, KEPT_BYTES)
    # Where two prompts were too many, one at a time.
    each = max(1, measured[1] - first) if len(measured) > 1 else max(first, room)
    fit = 1 + max(0, room - first) // each
    prompts = n if fit >= n else 1 << (fit.bit_length() - 1)
    return memory.MemoryPlan(
        prompts=prompts, rows=1, budget=budget, peak=first + (prompts - 1) * each, weights=resident_bytes(model.model)
    )


def _bytes_kept(model: HookedModel, batch: PromptBatch, *, n_metrics: int) -> int:
    """Bytes that prompts keep until their backward passes are over, measured on a forward pass."""
    with model.lock, torch.enable_grad(), counting_kept(model) as sizes:
        logits, zeros = _traced(model, batch.continued("corrupted"), {})
    # Also the zeros and their gradients, and the gradient of the logits of all positions, of which one is read.
    of_zeros = (1 + n_metrics) * sum(z.nbytes for z in zeros.values())
    return int(_BESIDE * (sum(sizes.values()) + of_zeros + batch.length * logits[:, :1].nbytes + logits[:, 1:].nbytes))


def _no_gradient(model: HookedModel, what: str) -> str:
    return (
        f"Model {model.name!r} gives no gradient with respect to {what}: part of its forward pass runs without "
        f"gradients. Patch exactly, which needs none."
    )


@contextmanager
def leaving_no_graph(model: HookedModel) -> Iterator[None]:
    """Gradients can be taken, whatever the caller has switched off, and none of their graphs stays behind."""
    # The bridge keeps the attention of its last run, and so the graph behind it: then that of a short run.
    clear = functools.partial(model.run, torch.zeros(1, 1, dtype=torch.long), hooks={})
    with torch.inference_mode(False):
        try:
            yield
        except BaseException:
            with suppress(RuntimeError):  # it must not take the place of the first error
                clear()
            raise
        clear()


@contextmanager
def counting_kept(model: HookedModel) -> Iterator[dict[int, int]]:
    """Address -> bytes, without weights, that forward passes save for their backward passes (do not run these)."""
    weights = {weight.untyped_storage().data_ptr() for weight in model.model.parameters()}
    sizes: dict[int, int] = {}

    def note(saved: Tensor) -> Tensor:
        storage = saved.untyped_storage()
        if storage.data_ptr() not in weights:
            sizes[storage.data_ptr()] = storage.nbytes()
        return saved.detach()

    with torch.autograd.graph.saved_tensors_hooks(note, lambda saved: saved):
        yield sizes
