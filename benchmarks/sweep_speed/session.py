"""A run of the benchmark: models, works and sides in turn, then the tables."""

import argparse
import importlib.metadata
import json
import os
import platform
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import torch
from random_weights import random_hooked_model
from rich.console import Console
from sections import markdown, show, write_section
from torch import Tensor

import headcats
from headcats.models.adapter import HookedModel
from sweep_speed import peak
from sweep_speed.clock import gemm_rate, timings
from sweep_speed.report import Row, tables
from sweep_speed.shapes import SHAPES, TINY, Shape
from sweep_speed.sides import sides_of
from sweep_speed.works import WORKS, Job, spread, works_of

ALONE = 2
"""Prompts that the loop over single prompts takes, unless all are asked for."""

BUSY = 0.1
"""Change of the GEMM rate from which on seconds are not to be trusted."""


def run(chosen: argparse.Namespace, *, script: Path) -> None:
    """Everything that the command line asks for."""
    _set_up(chosen)
    err, facts, rows = Console(stderr=True, highlight=False), _facts(chosen), list[Row]()
    for shape in chosen.shape:
        peaks = {}
        if chosen.device == "cpu" and not chosen.quick and peak.can_measure():
            peaks = peak.in_fresh_process(script, _arguments_of_peaks(chosen, shape))
        with err.status(f"{shape}: making the model") as status:
            for work, job in _jobs(chosen, shape):
                rows += _rows(chosen, shape, work, job, peaks.get(work, {}), status.update)
                # After each work: the whole takes hours, and may be cut short.
                _keep(chosen, rows, facts)
    show(tables(rows), Console(highlight=False))


def _keep(chosen: argparse.Namespace, rows: list[Row], facts: list[str]) -> None:
    """Write what there is so far."""
    if chosen.write:
        heading = " ".join(filter(None, (chosen.backend, chosen.device, chosen.dtype, chosen.label)))
        write_section(chosen.write, heading, markdown(tables(rows), facts, heading=heading))
    if chosen.json:
        content = {"facts": facts, "rows": [row.as_json() for row in rows]}
        chosen.json.write_text(json.dumps(content, indent=1), encoding="utf-8")


def measure_peaks(chosen: argparse.Namespace) -> dict[str, dict[str, int]]:
    """Work -> side -> bytes, of one shape, on a CPU: in a process of its own (see `sweep_speed.peak`)."""
    _set_up(chosen)
    (shape,) = chosen.shape
    err = Console(stderr=True, highlight=False)
    found = {}
    for work, job in _jobs(chosen, shape):
        err.print(f"{shape}: peak memory, {job.work.title}")
        found[work] = peak.peaks(job, _rehearsal(chosen, job), sides_of(job))
    return found


def _arguments_of_peaks(chosen: argparse.Namespace, shape: str) -> list[str]:
    arguments = ["--peaks", "--threads", "1", "--backend", chosen.backend, "--dtype", chosen.dtype, "--shape", shape]
    arguments += ["--memory", chosen.memory] if chosen.memory else []
    arguments += ["--prompts", str(chosen.prompts)] if chosen.prompts else []
    return [*arguments, "--work", *(chosen.work or works_of(shape))]


def _rehearsal(chosen: argparse.Namespace, job: Job) -> Job:
    """The same work on a tiny model."""
    shape = SHAPES[TINY[job.shape.layout]]
    return Job(_model(chosen, shape), shape, replace(job.work, length=None), shape.heads, range(shape.prompts))


def _model(chosen: argparse.Namespace, shape: Shape) -> HookedModel:
    return random_hooked_model(shape, chosen.backend, device=chosen.device, dtype=getattr(torch, chosen.dtype))


def _jobs(chosen: argparse.Namespace, name: str) -> Iterator[tuple[str, Job]]:
    shape = SHAPES[name]
    model = _model(chosen, shape)
    heads = spread(len(shape.heads), len(shape.heads) if chosen.full else chosen.forwards)
    for work in chosen.work or works_of(name):
        sized = replace(shape, prompts=chosen.prompts or WORKS[work].prompts or shape.prompts)
        alone = spread(sized.prompts, sized.prompts if chosen.full else ALONE)
        yield work, Job(model, sized, WORKS[work], [shape.heads[place] for place in heads], alone, chosen.memory)


def _rows(
    chosen: argparse.Namespace, shape: str, work: str, job: Job, peaks: Mapping[str, int], note: Callable[[str], None]
) -> list[Row]:
    model, sides = job.model, sides_of(job)
    if model.device.type == "cuda" and not chosen.quick:
        note(f"{job.work.title}: peak memory")
        peaks = peak.peaks(job, _rehearsal(chosen, job), sides)
    before = gemm_rate(job.shape, device=model.device, dtype=model.dtype)
    made = timings(job, sides, repeat=1 if chosen.quick else chosen.repeat, patience=chosen.patience, note=note)
    after = gemm_rate(job.shape, device=model.device, dtype=model.dtype)
    if abs(before - after) > BUSY * max(before, after):
        rates = f"{before / 1e9:.0f} GFLOP/s before and {after / 1e9:.0f} after"
        warnings.warn(f"{shape}, {work}: GEMM {rates}. The machine is busy: do not keep these seconds.", stacklevel=2)
    expected = made["transformer_lens"].found.values
    unpatched = job.runs.measured((job.work.metric,), job.runs.corrupted)[0].cpu()
    return [
        Row(
            shape=shape,
            work=work,
            title=f"{job.work.title}; {job.shape.prompts} x {job.length} tokens",
            side=name,
            side_title=sides[name].title,
            path=timing.found.path,
            seconds=timing.best,
            baseline=made["transformer_lens"].best,
            ours=made["ours"].best,
            share=sides[name].flops(job) / max(before, after) / timing.best,
            peak=peaks.get(name),
            difference=_largest(timing.found.values - expected),
            done=timing.found.done,
            repetitions=len(timing.seconds),
            first=made["ours"].first,
            gemm=(before, after),
            effect=_largest(made["ours"].found.values.movedim(0, -1) - unpatched),
        )
        for name, timing in made.items()
    ]


def _set_up(chosen: argparse.Namespace) -> None:
    for kind, wanted, known in (("shape", chosen.shape, SHAPES), ("work", chosen.work or [], WORKS)):
        unknown = [name for name in wanted if name not in known]
        if unknown:
            raise SystemExit(f"There is no {kind} {unknown[0]!r}; there are: {', '.join(known)}.")
    if chosen.write and not chosen.write.is_file():
        raise SystemExit(f"--write replaces a section of a page, and there is no file {chosen.write}.")
    if chosen.json and not chosen.json.parent.is_dir():
        raise SystemExit(f"--json {chosen.json}: there is no folder {chosen.json.parent}.")
    torch.set_num_threads(chosen.threads)
    warnings.filterwarnings("ignore", "HookedTransformer is deprecated", DeprecationWarning)


def _largest(differences: Tensor) -> float:
    """Largest absolute difference where both sides have a number."""
    return float(differences[~differences.isnan()].abs().max())


def _facts(chosen: argparse.Namespace) -> list[str]:
    if chosen.device.startswith("cuda"):
        machine = torch.cuda.get_device_name(chosen.device)
    else:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        machine = f"{_processor()}, {torch.get_num_threads()} threads on {cores} cores"
    packages = ("torch", "transformer-lens", "transformers")
    versions = [f"{name} {importlib.metadata.version(name)}" for name in packages]
    python = f"Python {platform.python_version()}"
    return [
        f"{machine}; {', '.join([platform.system(), python, *versions, f'headcats {headcats.__version__}'])}",
        f"`{_command(chosen)}`",
    ]


def _processor() -> str:
    listed = Path("/proc/cpuinfo")
    text = listed.read_text(encoding="utf-8") if listed.exists() else ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1] if found else platform.processor() or platform.machine()


def _command(chosen: argparse.Namespace) -> str:
    """The command line, without what only says where the output goes."""
    values = vars(chosen)
    words = ["python benchmarks/speed.py"]
    for name in ("backend", "device", "dtype", "threads", "prompts", "repeat", "patience", "forwards", "memory"):
        words += [f"--{name} {values[name]}"] * bool(values[name])
    words += [f"--{name} {' '.join(values[name])}" for name in ("shape", "work") if values[name]]
    words += [f"--{name}" for name in ("full", "quick") if values[name]]
    return " ".join(words)
