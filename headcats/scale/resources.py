"""`hc.plan`: hours, memory and storage of a study, on a model and devices that are not at hand."""

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from headcats.base.bounds import check_count
from headcats.base.errors import OptionError, UnknownNameError, pluralize
from headcats.base.registry import unknown_name_message
from headcats.scale.costs import UNPATCHED, Counting, bridge_sizes, is_planned
from headcats.scale.hardware import Hardware, find_hardware
from headcats.scale.shape import ModelShape, find_shape
from headcats.scale.written import written
from headcats.study.options import StudyOptions, takes_options
from headcats.study.plan import study_of
from headcats.sweeps.memory import readable_bytes

DTYPES = ("float32", "bfloat16", "float16")
TOGETHER = "together"


@dataclass(frozen=True)
class Resources:
    """Hours, memory and storage of a study on the devices that `hc.plan` was given.

    Attributes:
        shape: Sizes of the model.
        hardware: Memory and speed of one device.
        dtype: Type of the weights and activations.
        devices: How many devices there are.
        devices_per_copy: Devices that one copy of the model is spread over, layer after layer: they work in turn.
        copies: Copies of the model, which share the prompts.
        n_tasks: Scored tasks.
        n_prompts: Scored prompts of all tasks together.
        tokens: Mean number of tokens of a prompt.
        written_by: Whose tokenizer wrote the prompts.
        weights: Bytes of the weights of one copy.
        parts: A row for the unpatched runs that all methods share, one for each method, and their sum ("together"):
            `flops`; `hours` from start to end, if the copies share the work evenly; `memory`, bytes of one device with
            its share of the weights (together: the most); `storage`, bytes of blocks.
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


@takes_options(StudyOptions, until="plan")
def plan(
    shape: str | os.PathLike[str] | ModelShape,
    options: StudyOptions,
    *,
    hardware: str | Hardware = "h100",
    devices: int = 1,
    dtype: str = "bfloat16",
    tokenizer: Any = None,
) -> Resources:
    """Hours, memory and storage of `hc.run`, for a model and devices that need not be here.

    Hours are those of the matrix products of the sweeps' fast paths (see `headcats.scale.flops`); what else a run does
    comes on top: loading, reading of the weights, norms, checks. Prompts are taken to be kept, tasks to be scored. A
    model that does not fit on one device is spread over several, layer after layer, as `--device auto` does it:
    they work in turn, so that a copy is as fast as one device. For a model that is here, `headcats validate` measures.

    Args:
        shape: "llama-3-8b", "llama-3-70b" or another name of `shapes.toml`, a folder in Hugging Face layout (its
            config.json is enough), or a `ModelShape`.
        hardware: "h100", "h200" or "a100", where the share of the peak that sweeps reach is an assumption (models of
            less than a billion weights reach far less); or a `Hardware` of your own.
        devices: How many devices there are.
        dtype: "bfloat16", "float16" or "float32".
        tokenizer: A tokenizer, or the folder or hub name of one, that writes the prompts. None takes that of the
            folder, else the one that is bundled for the suite: the length of a prompt is then an assumption.
        options: As in `hc.run`; methods that sweep heads.

    Returns:
        `Resources`: operations, hours and bytes of every part of the study and of all, and what they rest on.

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
        >>> planned.parts.index.tolist()
        ['unpatched runs', 'denoising_patch@last', 'together']
        >>> round(planned.weights / 1e9)
        141

    References:
        headcats' own; sizes of models and devices have their sources in `shapes.toml` and `hardware.py`.
    """
    check_count("devices", devices)
    if dtype not in DTYPES:
        raise UnknownNameError(unknown_name_message("dtype", dtype, DTYPES))
    device = find_hardware(hardware, dtype) if isinstance(hardware, str) else hardware
    model_shape = find_shape(shape)
    study = study_of(options)
    if others := [spec.label for spec in study.methods if not is_planned(spec)]:
        raise OptionError(
            f"A plan counts sweeps of heads, and {' and '.join(others)} does not sweep: leave that out, or see what "
            "`headcats validate` says of a model that is here."
        )
    folder = None if isinstance(shape, ModelShape) else Path(shape)
    preparation, written_by = written(study, tokenizer, folder=folder)
    counting = Counting(model_shape, bridge_sizes(model_shape, getattr(torch, dtype)), preparation)
    per_copy, memory = _spread(device, counting, devices=devices)
    copies, storage = devices // per_copy, {spec.label: counting.storage(spec) for spec in study.methods}
    rows = {
        part: (flops, flops / device.rate / 3600 / copies, memory[part], storage.get(part, 0))
        for part, flops in counting.operations()
    }
    flops, hours, most, stored = zip(*rows.values(), strict=True)
    rows[TOGETHER] = (sum(flops), sum(hours), max(most), sum(stored))
    lengths = [batch.length for batch in counting.batches for _ in range(len(batch))]
    return Resources(
        shape=model_shape,
        hardware=device,
        dtype=dtype,
        devices=devices,
        devices_per_copy=per_copy,
        copies=copies,
        n_tasks=sum(bool(preparation.of(task.name).scored) for task in study.tasks),
        n_prompts=len(lengths),
        tokens=sum(lengths) / len(lengths),
        written_by=written_by,
        weights=counting.sizes.weights,
        parts=pd.DataFrame.from_dict(rows, orient="index", columns=["flops", "hours", "memory", "storage"]),
    )


def _spread(device: Hardware, counting: Counting, *, devices: int) -> tuple[int, dict[str, int]]:
    """Devices that a copy of the model is spread over, and memory of each part on one of them."""
    name, weights, problem = counting.shape.name or "The model", counting.sizes.weights, "its weights alone do not fit"
    for per_copy in range(max(1, math.ceil(weights / device.memory)), counting.shape.n_layers + 1):
        share = math.ceil(weights / per_copy)
        budget = (device.memory - share) // 2  # as in a run, which takes half of what is free
        try:
            beside = {spec.label: counting.memory(spec, budget=budget) for spec in counting.preparation.study.methods}
        except OptionError as error:
            problem = str(error)
            continue
        if per_copy <= devices:
            return per_copy, {part: share + more for part, more in {UNPATCHED: 0, **beside}.items()}
        raise OptionError(
            f"{name} takes {readable_bytes(weights)} in {counting.sizes.number * 8} bits: one copy and what these "
            f"methods compute beside it need {pluralize(per_copy, 'device')} of {readable_bytes(device.memory)}, and "
            f"devices is {devices}. Take at least --devices {per_copy} (devices={per_copy})."
        )
    raise OptionError(f"{name} cannot be spread over devices of {device.name}: {problem}")
