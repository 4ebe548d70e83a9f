"""What it costs that prompts of different lengths are grouped by length and never padded.

    python benchmarks/prompt_lengths.py [--shape gpt2-small] [--prompts 64] [--repeat 3] [--threads 2]

A denoising patch of every head at the last position, for as many prompts with as many tokens in all: of one length, and
of ever more lengths around it, which makes as many batches of each. Lengths take turns, and the least time counts.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from random_weights import random_hooked_model
from sweep_speed.shapes import SHAPES, Shape, random_batch

from headcats.models.adapter import HookedModel
from headcats.prompts.batch import PromptBatch
from headcats.sweeps.batch_sweep import sweep


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row for each number of lengths."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=SHAPES, default="gpt2-small")
    parser.add_argument("--prompts", type=int, default=64)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(chosen.threads)
    shape = SHAPES[chosen.shape]
    model = random_hooked_model(shape, "bridge")
    numbers = [number for number in (1, 4, 16, 64) if number <= min(chosen.prompts, 3 * shape.length // 2)]
    works = {number: batches(shape, prompts=chosen.prompts, lengths=number) for number in numbers}
    seconds: dict[int, list[float]] = {number: [] for number in works}
    for _ in range(1 + chosen.repeat):
        for number, work in works.items():
            seconds[number].append(timed(model, work))
    # The first round checks the fast path once for every length.
    least = {number: min(times[1:]) for number, times in seconds.items()}
    print(f"{Path(__file__).name}: {chosen.shape}, {chosen.prompts} prompts of {shape.length} tokens on average")
    for number, time_taken in least.items():
        print(f"{number:3d} lengths: {time_taken:7.3f} s, {time_taken / least[1]:.2f} times that of one length")


def batches(shape: Shape, *, prompts: int, lengths: int) -> list[PromptBatch]:
    """Prompts of consecutive lengths, as many of each, with `shape.length` tokens on average."""
    first = shape.length - (lengths - 1) // 2
    of_each = replace(shape, prompts=prompts // lengths)
    return [random_batch(of_each, length=first + place, shared=0.5, seed=place) for place in range(lengths)]


def timed(model: HookedModel, work: Sequence[PromptBatch]) -> float:
    """Seconds of all sweeps."""
    started = time.perf_counter()
    for batch in work:
        sweep(model, batch, "denoising_patch")
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
