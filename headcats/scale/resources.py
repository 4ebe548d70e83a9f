"""`hc.plan`: hours and memory of a study, on a model and devices that are not at hand."""

import math
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
import torch
from torch.nn import functional

from headcats.base.errors import DataError, OptionError, UnknownNameError, check_count, pluralize, unknown_name_message
from headcats.base.registry import lookup, names
from headcats.evidence.power import own_sources
from headcats.models.transformers_model import read_tokenizer
from headcats.scale.costs import UNPATCHED, Counting, bridge_sizes, is_planned
from headcats.scale.shape import ModelShape, find_shape
from headcats.study.options import ModelOptions, StudyOptions, takes_options
from headcats.study.own_template import with_own_template
from headcats.study.plan import Study, study_of
from headcats.study.preparation import Preparation
from headcats.sweeps.memory import readable_bytes
from headcats.tasks.suites import suite_defaults

# Of the peak rate, what sweeps reach: the lower end of the 38 to 43 % that training Llama 3 405B reached on H100s in
# bfloat16 (arXiv 2407.21783, section 3.3.2). An assumption: nobody has run headcats on models of that size.
_SHARE = 0.38
# Title, bytes, and rates of dense matrix products in operations per second (a multiply-add is two; sparsity halved): in
# 16 bits, and in float32 without TF32, as torch computes it unless told otherwise.
_SHEETS = {
    "h100": ("NVIDIA H100 SXM, 80 GB", 80e9, 989e12, 67e12),
    "h200": ("NVIDIA H200 SXM, 141 GB", 141e9, 989e12, 67e12),
    "a100": ("NVIDIA A100 SXM, 80 GB", 80e9, 312e12, 19.5e12),
}
HERE = "here"
# Of the rate of matrix products: an assumption (three batches of SmolLM2-135M reached 60 to 79 % on two cores), which
# `benchmarks/real_model.py --table` puts beside whole runs.
SHARE_HERE = 0.65
_ROWS, _MEASURED = 2048, 0.5  # of a product; seconds of products
DTYPES = ("float32", "bfloat16", "float16")
TOGETHER = "together"


@dataclass(frozen=True)
class _Writer:
    """The parts of a model that decide how prompts are written."""

    name: str
    tokenizer: Any
    n_ctx: int | None = None

    @property
    def text_tokenizer(self) -> Any:
        return self.tokenizer


def written(study: Study, source: Any, *, folder: Path | None) -> tuple[Preparation, str]:
    """The prompts of a study, and whose tokenizer wrote them: `source`, else that of `folder`, else the bundled one."""
    if source is None and folder is not None and any(folder.glob("tokenizer*")):
        source = folder
    bundled = source is None
    if bundled:
        name = suite_defaults(study.suite.source).get("model", ModelOptions.model)
        if name not in names("model"):
            raise DataError(
                f"No bundled tokenizer is made for suite {study.suite.name!r}. Name the folder or hub name of one, "
                "such as --tokenizer gpt2 (tokenizer='gpt2')."
            )
        source = lookup("model", name)
    tokenizer = read_tokenizer(source)
    title = f"bundled tokenizer of {name!r}" if bundled else f"tokenizer of {getattr(tokenizer, 'name_or_path', '?')!r}"
    # Of a model, prompts depend on its tokenizer and its context alone.
    writer = _Writer(title, tokenizer)
    preparation = Preparation(writer, with_own_template(study, writer))
    problems = {task.name: preparation.of(task.name).problem for task in study.tasks}
    if all(problems.values()):
        task, problem = next(iter(problems.items()))
        raise DataError(
            f"The {title} can write none of {len(problems)} tasks ({task}: {problem}). Name that of the model with "
            "--tokenizer (tokenizer=...)."
        )
    return preparation, title


@dataclass(frozen=True)
class Hardware:
    """Memory in bytes and operations per second of one device, and where the numbers come from."""

    name: str
    memory: int
    rate: float
    source: str


def find_hardware(name: str, dtype: str, shape: ModelShape) -> Hardware:
    """A device by its name, for numbers of one type; an UnknownNameError lists near matches. `here` is measured."""
    if name == HERE:
        rate, threads = _measured(shape, getattr(torch, dtype)), pluralize(torch.get_num_threads(), "thread")
        source = f"measured on {threads}; sweeps reach {SHARE_HERE:.0%} of {rate / 1e12:.2g} TFLOP/s of matrix products"
        return Hardware(f"this processor, {threads}", psutil.virtual_memory().total, SHARE_HERE * rate, source)
    if name not in _SHEETS:
        raise UnknownNameError(unknown_name_message("hardware", name, (*_SHEETS, HERE)))
    title, memory, half, single = _SHEETS[name]
    peak = single if dtype == "float32" else half
    source = f"data sheet of {title}; sweeps reach {_SHARE:.0%} of {peak / 1e12:g} TFLOP/s, which is an assumption"
    return Hardware(title, int(memory), _SHARE * peak, source)


@torch.no_grad()
def _measured(shape: ModelShape, dtype: torch.dtype) -> float:
    """Operations per second of this processor in an MLP of a shape, the best of half a second."""
    rows, up = torch.randn(_ROWS, shape.d_model, dtype=dtype), torch.randn(shape.d_mlp, shape.d_model, dtype=dtype)
    down = up.T.contiguous()
    best, end = math.inf, time.perf_counter() + _MEASURED
    while math.isinf(best) or time.perf_counter() < end:
        started = time.perf_counter()
        functional.linear(functional.linear(rows, up), down)
        best = min(best, time.perf_counter() - started)
    return 4 * _ROWS * shape.d_model * shape.d_mlp / best


@dataclass(frozen=True)
class Resources:
    """Hours and memory of a study on the devices that `hc.plan` was given.

    Attributes:
        shape: Sizes of the model.
        hardware: Memory and speed of one device.
        dtype: Type of the weights and activations.
        devices: How many devices there are.
        devices_per_copy: Devices that one copy of the model is spread over, layer after layer: they work in turn.
        copies: Copies of the model, which share the prompts.
        n_tasks: Scored tasks.
        n_prompts: Scored prompts of all tasks together.
        n_items: Query items of the median task.
        sources: Independent sources of every category, which decide what `headcats evidence` can find.
        tokens: Mean number of tokens of a prompt.
        written_by: Whose tokenizer wrote the prompts.
        weights: Bytes of the weights of one copy.
        parts: A row for the unpatched runs that all methods share, one for each method, and their sum ("together"):
            `flops`; `hours` from start to end, if the copies share the work evenly; `memory`, bytes of one device with
            its share of the weights (together: the most).
    """

    shape: ModelShape
    hardware: Hardware
    dtype: str
    devices: int
    devices_per_copy: int
    copies: int
    n_tasks: int
    n_prompts: int
    n_items: float
    sources: Mapping[str, int]
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
    """Hours and memory of `hc.run`, for a model and devices that need not be here.

    Hours are those of the matrix products of the sweeps' fast paths (see `headcats.scale.costs`); what else a run does
    comes on top: loading, reading of the weights, norms, checks. Prompts are taken to be kept, tasks to be scored. A
    model that does not fit on one device is spread over several, layer after layer, as `--device auto` does it:
    they work in turn, so that a copy is as fast as one device. Of a model that is here, `headcats validate` says
    the memory.

    Args:
        shape: "llama-3-8b", "llama-3-70b" or another name of `shapes.toml`, a folder in Hugging Face layout (its
            config.json is enough), or a `ModelShape`.
        hardware: "h100", "h200" or "a100", where the share of the peak that sweeps reach is an assumption (models of
            less than a billion weights reach far less); "here", the processor of this machine, whose rate is measured
            (with dtype "float32", as a run has it); or a `Hardware` of your own.
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
        headcats' own; sizes of models and devices have their sources in `shapes.toml` and `resources.py`.
    """
    check_count("devices", devices)
    if dtype not in DTYPES:
        raise UnknownNameError(unknown_name_message("dtype", dtype, DTYPES))
    model_shape = find_shape(shape)
    device = find_hardware(hardware, dtype, model_shape) if isinstance(hardware, str) else hardware
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
    copies = devices // per_copy
    rows = {part: (flops, flops / device.rate / 3600 / copies, memory[part]) for part, flops in counting.operations()}
    flops, hours, most = zip(*rows.values(), strict=True)
    rows[TOGETHER] = (sum(flops), sum(hours), max(most))
    scored = {task.name: batches for task in study.tasks if (batches := preparation.of(task.name).scored)}
    lengths = [batch.length for batches in scored.values() for batch in batches for _ in range(len(batch))]
    items = [len({item for batch in batches for item in batch.items}) for batches in scored.values()]
    return Resources(
        shape=model_shape,
        hardware=device,
        dtype=dtype,
        devices=devices,
        devices_per_copy=per_copy,
        copies=copies,
        n_tasks=len(scored),
        n_prompts=len(lengths),
        n_items=float(np.median(items)),
        sources=own_sources(
            {task: study.sources.labels[task] for task in scored},
            {task.name: study.suite.category_of(task).name for task in study.tasks},
        ),
        tokens=sum(lengths) / len(lengths),
        written_by=written_by,
        weights=counting.sizes.weights,
        parts=pd.DataFrame.from_dict(rows, orient="index", columns=["flops", "hours", "memory"]),
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
