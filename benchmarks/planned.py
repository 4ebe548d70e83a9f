"""What `headcats validate` says of memory and time, beside what the run then takes.

    python benchmarks/planned.py [--shape 32x32-gqa] [--tasks 20] [--prompts 64] [--methods NAME ...] [--threads 1]

Random weights can do no task, so the tasks are made of the model: random prompts whose right answer is what it says to
the clean one, and whose wrong one is what it says to the corrupted one. Memory is that of tensors, counted over the
run of one task, and the growth of the process over the whole run (Linux), which holds Python's objects and what its
allocator keeps.
"""

import argparse
import gc
import logging
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from random_weights import random_hooked_model
from sweep_speed.shapes import SHAPES, Shape
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from headcats.models.adapter import HookedModel
from headcats.prompts.pair import PromptPair
from headcats.results.manifest import Manifest
from headcats.study.plan import REFERENCE_PROMPTS
from headcats.study.runner import run
from headcats.study.validation import validate
from headcats.sweeps.free_memory import peak_bytes
from headcats.sweeps.memory import readable_bytes
from headcats.tasks.definition import Task

METHODS = ("denoising_patch", "denoising_patch:unit=kv_group")
# Of two prompts that the model answers alike, none is left: some more than a study asks for.
_SPARE = 40
_UNITS = {"kB": 1e3, "MB": 1e6, "GB": 1e9, "s": 1, "min": 60, "h": 3600}
_STATUS, _PEAK = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def main(arguments: Sequence[str] | None = None) -> float:
    """Print what was planned and what was used; the memory of tensors as a share of what was planned."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=SHAPES, default="32x32-gqa")
    parser.add_argument("--tasks", type=int, default=20)
    parser.add_argument("--prompts", type=int, default=64)
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--memory", help="limit, such as 1GB; default: half of what is free")
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(chosen.threads)
    shape = SHAPES[chosen.shape]
    model = random_word_model(shape)
    tasks = [own_task(model, shape, number, prompts=chosen.prompts) for number in range(chosen.tasks)]
    options = {"n_prompts": chosen.prompts, "methods": chosen.methods, "min_accuracy": 0, "memory": chosen.memory}
    print(f"{Path(__file__).name}: {chosen.shape}, {chosen.tasks} tasks x {chosen.prompts} prompts of {shape.length}")
    with logged() as lines:
        validate(model, suite=tasks, **options)
    print(*(line for line in lines if line.startswith(("Memory", "Time"))), sep="\n")
    planned_bytes, planned_seconds = planned(lines)

    tensors = peak_bytes(lambda: run(model, suite=tasks[:1], progress=False, **options))
    gc.collect()
    before = _resident("VmRSS", reset=True) if _PEAK.exists() else None
    started, processed = time.perf_counter(), time.process_time()
    results = run(model, suite=tasks, progress=False, **options)
    seconds, processed = time.perf_counter() - started, time.process_time() - processed
    blocks = Manifest.from_json(results.attrs["manifest"]).blocks
    in_blocks = sum(record.seconds or 0.0 for records in blocks.values() for record in records.values())
    print(f"tensors: {readable_bytes(tensors)} at most, {tensors / planned_bytes:.2f} of what was planned")
    if before is not None:
        grown = _resident("VmHWM") - before
        print(f"process: {readable_bytes(grown)} more at most, {grown / planned_bytes:.2f} of what was planned")
    print(
        f"time: {seconds:.1f} s, {seconds / planned_seconds:.2f} of what was planned "
        f"({in_blocks:.1f} s in sweeps; {processed:.1f} s of the processor)"
    )
    return tensors / planned_bytes


def random_word_model(shape: Shape) -> HookedModel:
    """The random model of a shape, whose tokenizer knows the words `w2`, `w3`, ... as tokens 2, 3, ..."""
    words = ["<bos>", "<unk>", *(f"w{number}" for number in range(2, shape.d_vocab))]
    backend = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<bos>", unk_token="<unk>")
    return HookedModel(random_hooked_model(shape, "bridge").model, name="random", tokenizer=tokenizer)


def own_task(model: HookedModel, shape: Shape, number: int, *, prompts: int) -> Task:
    """Random finished prompts with the answers that the model gives; the first and the last quarter are not corrupted.

    Four categories in turn.
    """
    draws = torch.Generator().manual_seed(number)
    size = (prompts + REFERENCE_PROMPTS + _SPARE, shape.length)
    clean, corrupted = (torch.randint(2, shape.d_vocab, size, generator=draws) for _ in range(2))
    quarter = shape.length // 4
    corrupted[:, :quarter], corrupted[:, -quarter:] = clean[:, :quarter], clean[:, -quarter:]
    clean[:, 0] = corrupted[:, 0] = 0
    answers, distractors = (_answers(model, tokens) for tokens in (clean, corrupted))
    name = f"random_{number}"
    pairs = [
        PromptPair(
            key=f"{name} {row}",
            item=f"{name} {row}",
            clean=_words(clean[row, 1:]),
            corrupted=_words(corrupted[row, 1:]),
            answer=f" w{answer}",
            distractor=f" w{distractor}",
        )
        for row, (answer, distractor) in enumerate(zip(answers, distractors, strict=True))
        if answer != distractor
    ]
    return Task(name, f"category {number % 4}", "random words", lambda n, *, seed: pairs)


def planned(lines: Sequence[str]) -> tuple[float, float]:
    """Bytes and seconds that the lines of `headcats validate` name."""
    text = "\n".join(lines)
    found = (re.search(rf"^{word}: (?:about )?([\d.]+) (\w+)", text, re.MULTILINE) for word in ("Memory", "Time"))
    memory, duration = (float(match[1]) * _UNITS[match[2]] for match in found if match)
    return memory, duration


@contextmanager
def logged() -> Iterator[list[str]]:
    """What the package logs meanwhile."""
    lines: list[str] = []
    handler, log = logging.Handler(), logging.getLogger("headcats")
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield lines
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


def _answers(model: HookedModel, tokens: torch.Tensor) -> list[int]:
    """The likeliest word after each prompt."""
    logits = torch.cat([model.logits(part) for part in tokens.split(32)])
    return (2 + logits[:, 2:].argmax(1)).tolist()


def _words(tokens: torch.Tensor) -> str:
    return " ".join(f"w{token}" for token in tokens.tolist())


def _resident(name: str, *, reset: bool = False) -> int:
    """Bytes of the process in memory, now (VmRSS) or at most (VmHWM) since it was reset."""
    if reset:
        _PEAK.write_text("5", encoding="ascii")
    found = re.search(rf"^{name}:\s+(\d+) kB$", _STATUS.read_text(encoding="ascii"), re.MULTILINE)
    assert found is not None
    return 1024 * int(found[1])


if __name__ == "__main__":
    main()
