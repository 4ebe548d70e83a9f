"""`hc.plan`: what a study will take on a model and hardware that are not at hand."""

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from headcats.bounds import check_count
from headcats.errors import OptionError, UnknownNameError, pluralize
from headcats.models.adapter import HookedModel
from headcats.models.shape import ModelShape, find_shape
from headcats.prompts.batch import PromptBatch
from headcats.registry import unknown_name_message
from headcats.study.costs import Counting, Work, is_planned
from headcats.study.hardware import MEASURED, Hardware, find_hardware, measured_hardware
from headcats.study.options import StudyOptions, takes_options
from headcats.study.plan import REFERENCE_PROMPTS, Study, study_of
from headcats.study.preparation import Preparation
from headcats.study.written import written
from headcats.sweeps.memory import readable_bytes
from headcats.sweeps.sizes import Sizes
from headcats.tasks.most_prompts import most_prompts

DTYPES = ("float32", "bfloat16", "float16")
UNPATCHED = "unpatched runs"
# Prompts of a task that are written where there are enough; the others are taken to be like them.
_SAMPLE = 64


@dataclass(frozen=True)
class Resources:
    """Operations, time, memory and storage of a study on the devices that `hc.plan` was given.

    Attributes:
        shape: Sizes of the model.
        hardware: What one device can do.
        dtype: Type of the weights and activations.
        devices: How many devices there are.
        devices_per_copy: Devices that one copy of the model is spread over, layer after layer: they work in turn.
        copies: Copies of the model, which share the prompts.
        n_tasks: Scored tasks.
        n_prompts: Scored prompts of all tasks together.
        tokens: Mean number of tokens of a prompt.
        written_by: Whose tokenizer wrote the prompts.
        weights: Bytes of the weights of one copy.
        parts: A row for the unpatched runs that all methods share, and one for each method: `part`; `forward_flops` and
            `sweep_flops`, operations of forward passes and of sweeps; `traffic`, bytes of weights that are read from
            memory; `seconds`, of one copy; `device_hours`; `activations` and `donors`, bytes beside the weights of
            a sweep, and what reference prompts add; `memory`, bytes of one device; `storage`, bytes of blocks.
    """

    shape: ModelShape
    hardware: Hardware
    dtype: str
    devices: int
    devices_per_copy: int
    copies: int
    n_tasks: int
    n_prompts: int
    tokens: float
    written_by: str
    weights: int
    parts: pd.DataFrame

    @property
    def flops(self) -> float:
        """Operations of the whole study."""
        return float(self.parts[["forward_flops", "sweep_flops"]].to_numpy().sum())

    @property
    def hours(self) -> float:
        """Hours from start to end, if the copies share the work evenly."""
        return float(self.parts["seconds"].sum() / self.copies / 3600)

    @property
    def device_hours(self) -> float:
        """Hours from start to end, times the devices that hold a copy."""
        return float(self.parts["device_hours"].sum())

    @property
    def memory(self) -> int:
        """Bytes that one device needs for the most demanding part."""
        return int(self.parts["memory"].max())

    @property
    def storage(self) -> int:
        """Bytes of the blocks of the study."""
        return int(self.parts["storage"].sum())


@takes_options(StudyOptions, until="plan")
def plan(
    shape: str | os.PathLike[str] | HookedModel | ModelShape,
    options: StudyOptions,
    *,
    hardware: str = "h100",
    devices: int = 1,
    dtype: str = "bfloat16",
    tokenizer: Any = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Resources:
    """Operations, device hours, memory and storage of `hc.run`, for a model and hardware that need not be here.

    Operations are those of matrix products on the fast paths of the sweeps (see `headcats.sweeps.flops`), with which
    nothing else is done in proportion: prompts are taken to be kept, tasks to be scored. A device takes the longer of
    computing and of reading the weights. A model that does not fit on one device is spread over several, layer after
    layer, as `--device auto` does it: they work in turn, so that a copy is as fast as one device.

    Args:
        shape: "llama-3-8b", "llama-3-70b" or another name of `shapes.toml`, a folder in Hugging Face layout (its
            config.json is enough), or a loaded model.
        hardware: "h100" or another device of `hardware.toml`, where the share of its peak that sweeps reach is an
            assumption; "measured" sweeps a slice of the model on this machine, for some seconds.
        devices: How many devices there are.
        dtype: "bfloat16", "float16" or "float32".
        tokenizer: A tokenizer, or the folder or hub name of one, that writes the prompts. None takes that of the
            folder, else the one that is bundled for the suite: the length of a prompt is then an assumption.
        clock: Function that gives seconds, for "measured".
        options: As in `hc.run`; methods that sweep heads.

    Returns:
        `Resources`: FLOPs, bytes, seconds and memory of every part of the study and of all, and what they rest on.

    Raises:
        UnknownNameError: A shape, hardware, dtype, suite, task, method or metric that does not exist.
        OptionError: A number out of range, fewer devices than one copy of the model needs, or methods that do not sweep
            heads.
        ModelError: A config that cannot be read, or of a model with experts.
        DataError: No prompt can be written.
        TypeError: An option that does not exist.

    Example:
        >>> import headcats as hc
        >>> study = {"suite": ["plural", "antonym"], "methods": ["denoising_patch"], "n_prompts": 16}
        >>> planned = hc.plan("llama-3-70b", devices=8, **study)
        >>> planned.devices_per_copy, planned.copies
        (2, 4)
        >>> planned.parts["part"].tolist()
        ['unpatched runs', 'denoising_patch@last']
        >>> round(planned.weights / 1e9)
        141

    References:
        headcats' own; sizes of models and devices have their sources in `shapes.toml` and `hardware.toml`.
    """
    check_count("devices", devices)
    if dtype not in DTYPES:
        raise UnknownNameError(unknown_name_message("dtype", dtype, DTYPES))
    known = None if hardware == MEASURED else find_hardware(hardware, dtype)
    model_shape = find_shape(shape)
    study = _sampled(options)
    if others := [spec.label for spec in study.methods if not is_planned(spec)]:
        raise OptionError(
            f"A plan counts sweeps of heads, and {' and '.join(others)} does not sweep: leave that out, or see what "
            "`headcats validate` says of a model that is here."
        )
    folder = Path(os.fspath(shape)) if isinstance(shape, str | os.PathLike) else None
    if tokenizer is None and isinstance(shape, HookedModel):
        tokenizer = shape.tokenizer
    preparation, written_by = written(study, tokenizer, folder=folder)
    batches = {task.name: preparation.of(task.name).scored for task in study.tasks}
    lengths = [batch.length for of_task in batches.values() for batch in of_task for _ in range(len(batch))]
    tokens = sum(lengths) / len(lengths)
    device = known or measured_hardware(model_shape, dtype, length=round(tokens), clock=clock)
    sizes = Sizes.planned(model_shape, getattr(torch, dtype), on_cpu=device.on_cpu)
    per_copy, counting = _spread(
        device, sizes, model_shape, preparation, options.n_prompts / study.n_prompts, devices=devices
    )
    parts = _parts(counting, batches, device, per_copy)
    return Resources(
        shape=model_shape,
        hardware=device,
        dtype=dtype,
        devices=devices,
        devices_per_copy=per_copy,
        copies=devices // per_copy,
        n_tasks=sum(map(bool, batches.values())),
        n_prompts=round(len(lengths) * counting.scale),
        tokens=tokens,
        written_by=written_by,
        weights=sizes.weights,
        parts=parts,
    )


def _sampled(options: StudyOptions) -> Study:
    """Return the study with few prompts of every task, if all have as many as are asked for and references beside."""
    few = study_of(replace(options, n_prompts=min(options.n_prompts, _SAMPLE)))
    least = options.n_prompts + 2 * REFERENCE_PROMPTS
    if all(most_prompts(few.pairs[task.name], n_demos=few.n_demos) >= least for task in few.tasks):
        return few
    return study_of(options)


def _spread(
    device: Hardware, sizes: Sizes, shape: ModelShape, preparation: Preparation, scale: float, *, devices: int
) -> tuple[int, Counting]:
    """How many devices a copy of the model is spread over, and what counts with the memory that is left beside it."""
    least = max(1, math.ceil(sizes.weights / device.memory))
    problem = "its weights alone do not fit"
    for per_copy in range(least, shape.n_layers + 1):
        # As in a run, which takes half of what is free.
        budget = (device.memory - math.ceil(sizes.weights / per_copy)) // 2
        counting = Counting(shape, sizes, preparation, scale, budget)
        try:
            for spec in preparation.study.methods:
                for task in preparation.study.tasks:
                    for batch in preparation.of(task.name).scored:
                        counting.memory(spec, batch)
        except OptionError as error:
            problem = str(error)
            continue
        if per_copy <= devices:
            return per_copy, counting
        raise OptionError(
            f"{shape.name or 'The model'} takes {readable_bytes(sizes.weights)} in {sizes.number * 8} bits: one copy "
            f"and what these methods compute beside it need {pluralize(per_copy, 'device')} of "
            f"{readable_bytes(device.memory)}, and devices is {devices}. Take at least --devices {per_copy} "
            f"(devices={per_copy})."
        )
    raise OptionError(f"{shape.name or 'The model'} cannot be spread over devices of {device.name}: {problem}")


def _parts(
    counting: Counting, batches: dict[str, tuple[PromptBatch, ...]], device: Hardware, per_copy: int
) -> pd.DataFrame:
    everything = [(task, batch) for task, of_task in batches.items() for batch in of_task]
    shared = sum((counting.unpatched(batch) for _, batch in everything), Work())
    rows = [_row(UNPATCHED, shared, Work(), device, per_copy)]
    share, references = math.ceil(counting.sizes.weights / per_copy), counting.reference_runs()
    for spec in counting.preparation.study.methods:
        forward = sum((counting.method_runs(spec, batch) for _, batch in everything), references[spec])
        swept = sum((counting.sweep(spec, batch) for _, batch in everything), Work())
        activations, donors = max((counting.activations(spec, batch) for _, batch in everything), key=sum)
        blocks = (counting.storage(spec, sum(map(counting.prompts, of_task))) for of_task in batches.values())
        row = _row(spec.label, forward, swept, device, per_copy)
        row |= {"activations": activations, "donors": donors, "memory": share + activations + donors}
        rows.append(row | {"storage": sum(blocks)})
    rows[0]["memory"] = share
    return pd.DataFrame(rows)


def _row(part: str, forward: Work, swept: Work, device: Hardware, per_copy: int) -> dict[str, Any]:
    seconds = sum(max(work.operations / device.rate, work.traffic / device.bandwidth) for work in (forward, swept))
    return {
        "part": part,
        "forward_flops": forward.operations,
        "sweep_flops": swept.operations,
        "traffic": forward.traffic + swept.traffic,
        "seconds": seconds,
        "device_hours": seconds * per_copy / 3600,
        "activations": 0,
        "donors": 0,
        "memory": 0,
        "storage": 0,
    }
