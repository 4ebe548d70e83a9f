"""`hc.plan` beside what runs then take, on models with random weights: operations, seconds, memory, storage.

    python benchmarks/plan.py [--shape NAME ...] [--prompts 16] [--methods NAME ...]

A rate is measured for every width on four of its layers, before and after the run, in place of a data sheet; layers,
heads, prompts, methods and reference prompts are the plan's to carry over. Random weights can do no task, so the tasks
are made of the model: random prompts whose right answer is what it says to the clean one, and whose wrong one is what
it says to the corrupted one. Operations are those that PyTorch counts in
the whole run (`FlopCounterMode`), memory is the weights and the most that tensors take at a time, seconds are those of
one thread of the processor, and storage is the size of the files of blocks.
"""

import argparse
import math
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from random_weights import random_hooked_model
from sweep_speed.shapes import SHAPES, Shape, random_batch
from tokenizers import Tokenizer, models, pre_tokenizers
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode
from transformers import PreTrainedTokenizerFast

import headcats as hc
from headcats.models.adapter import HookedModel
from headcats.models.weights import resident_bytes
from headcats.prompts.pair import PromptPair
from headcats.scale import costs
from headcats.scale.resources import Hardware
from headcats.study.plan import REFERENCE_PROMPTS
from headcats.sweeps.free_memory import peak_bytes
from headcats.tasks.definition import Task

PLANNED = {
    "6x8": Shape(6, 8, 8, 256, 32, 1024, 1000, tied=True, length=32),
    "8x16-gqa": Shape(8, 16, 4, 512, 32, 1408, 1000, 3, length=24),
    "12x12": Shape(12, 12, 12, 192, 16, 768, 1000, tied=True, length=40),
    "16x8-gqa": Shape(16, 8, 2, 256, 32, 688, 1000, 3, length=20),
}
METHODS = ("denoising_patch", "mean_ablation")
TASKS = 2
# Of two prompts that the model answers alike, none is left: some more than a study asks for.
_SPARE = 40


@dataclass(frozen=True)
class Line:
    """A quantity of one shape, as planned and as measured."""

    shape: str
    quantity: str
    planned: float
    measured: float

    @property
    def error(self) -> float:
        """Of the plan, as a share of what was measured."""
        return self.planned / self.measured - 1


def lines(name: str, shape: Shape, *, prompts: int, methods: Sequence[str], timed: bool) -> Iterator[Line]:
    """Every quantity of one shape; seconds only where `timed`."""
    model = random_word_model(shape)
    tasks = [own_task(model, shape, number, prompts=prompts) for number in range(TASKS)]
    study = {"suite": tasks, "methods": methods, "n_prompts": prompts}
    rate = measured_rate(shape) if timed else 1.0
    here = {"hardware": Hardware("here", 10**10, rate, "measured"), "tokenizer": model.tokenizer}
    planned = hc.plan(shape, dtype="float32", **here, **study).parts.loc["together"]
    run = {**study, "min_accuracy": 0, "progress": False}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "results"
        # The counter does not see into a fused kernel.
        with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
            peak = peak_bytes(lambda: hc.run(model, out=out, **run))
        stored = sum(path.stat().st_size for path in (out / "blocks").rglob("*.nc"))
    yield Line(name, "operations", planned.flops, counter.get_total_flops())
    if timed:
        started = time.process_time()
        hc.run(model, **run)
        seconds = time.process_time() - started
        # What else goes on on the machine changes: the rate of before and that of after.
        seconds_planned = planned.flops * (1 / rate + 1 / measured_rate(shape)) / 2
        yield Line(name, "seconds", seconds_planned, seconds)
    yield Line(name, "memory", planned.memory, resident_bytes(model.model) + peak)
    yield Line(name, "storage", planned.storage, stored)


def measured_rate(shape: Shape) -> float:
    """Operations per second of short sweeps of four layers of a shape, the shortest of three each."""
    small = replace(shape, n_layers=min(4, shape.n_layers))
    model, operations, seconds = random_hooked_model(small, "bridge"), 0, 0.0
    for positions, prompts in (("last", 64), ("all", 16)):
        batch = random_batch(replace(small, prompts=prompts), length=shape.length, shared=0.0)
        took = math.inf
        for _ in range(4):  # the first one checks the path, too, and is never the shortest
            started = time.process_time()
            hc.sweep(model, batch, "denoising_patch", positions=positions)
            took = min(took, time.process_time() - started)
        sizes = {"prompts": prompts, "length": shape.length}
        first = 0 if positions == "all" else shape.length - 1
        operations += 2 * costs.unpatched(small, **sizes, whole_vocabulary=True)
        operations += costs.swept(small, **sizes, first=first, whole_vocabulary=False)
        operations += costs.bridge_extras(small, **sizes, first=first)
        seconds += took
    return operations / seconds


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


def _answers(model: HookedModel, tokens: torch.Tensor) -> list[int]:
    """The likeliest word after each prompt."""
    logits = torch.cat([model.logits(part) for part in tokens.split(32)])
    return (2 + logits[:, 2:].argmax(1)).tolist()


def _words(tokens: torch.Tensor) -> str:
    return " ".join(f"w{token}" for token in tokens.tolist())


def main(arguments: Sequence[str] | None = None) -> list[Line]:
    """Print and return the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", nargs="+", choices=[*PLANNED, *SHAPES], default=list(PLANNED))
    parser.add_argument("--prompts", type=int, default=16)
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--untimed", action="store_true", help="measure no seconds, for a machine that is busy")
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    print(f"{TASKS} tasks x {chosen.prompts} prompts, {', '.join(chosen.methods)}, one thread")
    table = []
    for name in chosen.shape:
        shape = (PLANNED | SHAPES)[name]
        for line in lines(name, shape, prompts=chosen.prompts, methods=chosen.methods, timed=not chosen.untimed):
            print(f"{name:10} {line.quantity:10} planned {line.planned:9.3g} measured {line.measured:9.3g} "
                  f"error {line.error:+.0%}", flush=True)  # fmt: skip
            table.append(line)
    print(f"largest error: {max(abs(line.error) for line in table):.0%}")
    return table


if __name__ == "__main__":
    main()
