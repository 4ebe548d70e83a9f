"""Who computes it: TransformerLens' own patching, loops over single prompts, batched hooks and headcats.

Every side gets the same model object, the same tokens and the clean run, and reads the same metric from the logits at
the last position. Slow sides may be asked for some of the heads: one forward pass costs the same whichever head is
replaced in it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor
from transformer_lens import patching

from headcats.metrics.definition import measure, metric_traits
from headcats.models.head import Head
from headcats.models.hooks import hook_z
from headcats.scale import costs
from headcats.scale.shape import ModelShape
from headcats.sweeps.batch_sweep import sweep_runs
from headcats.sweeps.engine import measure_sets
from headcats.sweeps.hooked import rest_of_rows
from headcats.sweeps.paths import Choice
from headcats.sweeps.reference import Reference
from headcats.sweeps.runs import BaseRuns
from sweep_speed.works import INTERVENTION, Job


@dataclass(frozen=True)
class Found:
    """What a side found."""

    # the metric with one head replaced; NaN where the side was not asked
    values: Float[Tensor, "prompt *position layer head"]
    path: str = ""  # the path that ran, for ours

    @property
    def done(self) -> float:
        """Share of the work that was done."""
        return float((~self.values.isnan()).double().mean())


@dataclass(frozen=True)
class Side:
    """One way to do the work."""

    title: str
    run: Callable[[Job], Found]  # does the work
    flops: Callable[[Job], int]  # operations that its algorithm needs for all heads
    warm_up: bool = True  # whether it runs code that no other side has run


@torch.no_grad()
def transformer_lens(job: Job) -> Found:
    """`get_act_patch_attn_head_out_all_pos`, at the last position through its argument `patch_setter`; or `_by_pos`."""
    rows: list[Tensor] = []
    continued, last = job.batch.continued("corrupted"), job.length - 1

    def metric(logits: Tensor) -> Tensor:
        rest = rest_of_rows(continued, logits[:, job.length :], ranked=False)
        value = measure((job.work.metric,), logits[: len(continued), last], job.targets, rest=rest)[0]
        rows.append(value.cpu())
        return value.mean()

    def set_last(corrupted: Tensor, index: Any, clean: Tensor) -> Tensor:
        corrupted[:, last, index[1]] = clean[:, last, index[1]]
        return corrupted

    options = {"patch_setter": set_last} if job.work.positions == "last" else {}
    patch, cells, axes, placed = patching.get_act_patch_attn_head_out_all_pos, job.heads, ["layer", "head"], _placed
    if job.work.positions == "each":
        patch, cells, axes = patching.get_act_patch_attn_head_out_by_pos, job.cells, ["layer", "pos", "head"]
        placed = _placed_cells
    patch(
        job.model.model,
        continued.rows.to(job.model.device),
        job.cache,
        metric,
        index_axis_names=None,
        index_df=pd.DataFrame(cells, columns=axes),
        **options,
    )
    return Found(placed(job, torch.stack(rows, 1)))


@torch.no_grad()
def plain_loop(job: Job) -> Found:
    """As in function_vectors: plain transformers, batch 1, last token only, one forward pass per head and prompt."""
    model, tokens = job.plain, job.batch.corrupted.to(job.model.device)
    blocks = model.transformer.h if job.shape.layout == "gpt2" else model.model.layers
    outputs = [block.attn.c_proj if job.shape.layout == "gpt2" else block.self_attn.o_proj for block in blocks]
    values = torch.full((len(tokens), len(job.heads)), float("nan"))
    for prompt in job.alone:
        targets = job.targets.select(slice(prompt, prompt + 1))
        for place, (layer, head) in enumerate(job.heads):
            new = job.cache[hook_z(layer)][prompt, -1, head]
            columns = slice(head * job.shape.d_head, (head + 1) * job.shape.d_head)

            def set_last(module: Any, args: tuple[Tensor], *, columns: slice = columns, new: Tensor = new) -> None:
                args[0][:, -1, columns] = new

            handle = outputs[layer].register_forward_pre_hook(set_last)
            logits = model(tokens[prompt : prompt + 1]).logits
            handle.remove()
            values[prompt, place] = measure((job.work.metric,), logits[:, -1], targets)[0, 0].cpu()
    return Found(_placed(job, values))


@torch.no_grad()
def one_by_one(job: Job) -> Found:
    """The same loop with hooks of the TransformerLens model."""
    model, tokens = job.model.model, job.batch.corrupted.to(job.model.device)
    values = torch.full((len(tokens), len(job.heads)), float("nan"))
    for prompt in job.alone:
        targets = job.targets.select(slice(prompt, prompt + 1))
        for place, (layer, head) in enumerate(job.heads):
            new = job.cache[hook_z(layer)][prompt, -1, head]

            def set_last(z: Tensor, hook: Any, *, head: int = head, new: Tensor = new) -> Tensor:
                z[:, -1, head] = new
                return z

            logits = model.run_with_hooks(tokens[prompt : prompt + 1], fwd_hooks=[(hook_z(layer), set_last)])
            values[prompt, place] = measure((job.work.metric,), logits[:, -1], targets)[0, 0].cpu()
    return Found(_placed(job, values))


def batched_hooks(job: Job) -> Found:
    """`path="hooked"` of headcats for some heads: heads batched as rows of ordinary hooked forwards."""
    replacements = job.replacements(job.runs)
    values = measure_sets(
        job.runs,
        INTERVENTION.base,
        [(Head(layer, head),) for layer, head in job.heads],
        replacements,
        names=(job.work.metric,),
        choice=Choice("hooked", ""),
    )
    return Found(_placed(job, values[0]))


def ours(job: Job) -> Found:
    """`hc.sweep`, the corrupted run included, the clean run given."""
    runs = BaseRuns(job.model, job.batch, limit=job.memory)
    runs.clean = job.runs.clean
    return _sweep(job, runs)


def ours_whole(job: Job) -> Found:
    """`hc.sweep` with both unpatched runs."""
    return _sweep(job, BaseRuns(job.model, job.batch, limit=job.memory))


def _sweep(job: Job, runs: BaseRuns) -> Found:
    ds = sweep_runs(
        runs,
        INTERVENTION,
        metrics=[job.work.metric],
        positions=job.work.positions,
        path="auto",
        reference=Reference(job.batch),
    )
    return Found(torch.from_numpy(ds.patched.values[0]), str(ds.attrs["path"]))


def _placed(job: Job, values: Float[Tensor, "prompt done"]) -> Float[Tensor, "prompt layer head"]:
    placed = torch.full((len(values), job.shape.n_layers, job.shape.n_heads), float("nan"))
    for place, (layer, head) in enumerate(job.heads):
        placed[:, layer, head] = values[:, place]
    return placed


def _placed_cells(job: Job, values: Float[Tensor, "prompt done"]) -> Float[Tensor, "prompt position layer head"]:
    placed = torch.full((len(values), job.length, job.shape.n_layers, job.shape.n_heads), float("nan"))
    for place, (layer, position, head) in enumerate(job.cells):
        placed[:, position, layer, head] = values[:, place]
    return placed


def _every_forward(job: Job) -> int:
    """All logits: TransformerLens' patching and the loop over single prompts ask for no less."""
    return _forwards(job, logits=job.row)


def _hooked_forwards(job: Job) -> int:
    return _forwards(job, logits=job.work.answer)


def _forwards(job: Job, *, logits: int) -> int:
    rows = len(job.batch.continued("corrupted").rows)
    each = costs.forward(job.shape, prompts=rows, length=job.row, logits=logits)
    return len(job.shape.heads) * each * (job.length if job.work.positions == "each" else 1)


def _replays(job: Job, *, unpatched: int) -> int:
    """Rows of the algorithm that fits, and `unpatched` runs beside them."""
    pair = metric_traits(job.work.metric).reads == "pair"
    sizes: dict[str, Any] = {"prompts": len(job.batch), "length": job.length, "whole_vocabulary": not pair}
    if job.work.answer > 1:
        sizes |= {"whole_vocabulary": False, "steps": job.work.answer - 1}
    runs = unpatched * costs.unpatched(job.shape, **sizes)
    if job.work.positions == "each":
        return runs + sum(one_position(job.shape, at=at, **sizes) for at in range(job.first, job.length))
    first = job.length - 1 if job.work.answer > 1 else job.first
    return runs + costs.swept(job.shape, first=first, **sizes)


def one_position(shape: ModelShape, *, prompts: int, length: int, at: int, whole_vocabulary: bool) -> int:
    """Every head replaced at position `at` alone, given the unpatched run.

    In its own layer a head changes that position, in later ones those after it too. The last layer is read at the last
    position: heads there that write elsewhere change nothing. The unpatched run is not counted.
    """
    c = costs.Costs(shape)
    width, last = length - at, shape.n_layers - 1
    readout = c.vocabulary if whole_vocabulary else c.pair
    start = shape.n_heads * (c.head_out + c.mlp)
    total = last * start + sum(range(last)) * shape.n_heads * width * (c.attention(length) + c.mlp)
    total += last * shape.n_heads * (width * c.keys + c.queries + length * c.key + c.out + c.mlp + readout)
    return prompts * (total + (start + shape.n_heads * readout if at == length - 1 else 0))


SIDES = {
    "transformer_lens": Side("TransformerLens patching", transformer_lens, _every_forward),
    "plain_loop": Side("loop, batch 1, plain transformers (function_vectors)", plain_loop, _every_forward),
    "one_by_one": Side("loop, batch 1, hooks of TransformerLens", one_by_one, _every_forward),
    "batched_hooks": Side("batched hooks (path=hooked)", batched_hooks, _hooked_forwards),
    "ours": Side("headcats, clean run given", ours, lambda job: _replays(job, unpatched=1)),
    "ours_whole": Side("headcats, both runs", ours_whole, lambda job: _replays(job, unpatched=2), warm_up=False),
}

_ALONE = ("plain_loop", "one_by_one")
_BY_POSITION = ("transformer_lens", "ours")


def sides_of(job: Job) -> dict[str, Side]:
    """The sides that are measured on a work."""
    if job.work.positions == "each":
        return {name: SIDES[name] for name in _BY_POSITION}
    return {name: side for name, side in SIDES.items() if name not in _ALONE or job.work.one_by_one}
