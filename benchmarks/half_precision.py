"""The same sweep in float32 and in bfloat16: processor time, and how far the effects of heads move.

    python benchmarks/half_precision.py [--shape gpt2-small ...] [--tasks NAME ...] [--repeat 3] [--threads 1]

Random models of a shape are swept by denoising patches, at the last position or those of `--positions`. The bundled
model scores whole tasks by the default methods, and the members of all maps are compared. Differences are those of a
head's mean effect, beside its standard error in float32: over prompts, and of the bundled model as `hc.score` gives it.
"""

import argparse
import logging
import time
import warnings
from collections.abc import Callable, Sequence

import numpy as np
import torch
import xarray as xr
from random_weights import random_hooked_model
from sweep_speed.clock import gemm_rate
from sweep_speed.shapes import SHAPES, Shape, random_batch

import headcats as hc
from headcats.base.errors import StatisticsWarning

DTYPES = (torch.float32, torch.bfloat16)
TASKS = ("country_capital", "past_tense", "uppercase", "english_french")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one line per shape and positions, then the maps of the bundled model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", nargs="*", choices=SHAPES, default=["gpt2-small", "llama-gqa", "1b-gqa"])
    parser.add_argument("--positions", nargs="+", default=["last"])
    parser.add_argument("--tasks", nargs="*", default=list(TASKS), help="of the bundled model; none leaves it out")
    parser.add_argument("--prompts", type=int, default=64, help="per task (default 64)")
    parser.add_argument("--repeat", type=int, default=3, help="repetitions, of which the least counts (default 3)")
    parser.add_argument("--threads", type=int, default=1)
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(chosen.threads)
    for name in chosen.shape:
        compare_sweeps(name, SHAPES[name], positions=chosen.positions, repeat=chosen.repeat)
    if chosen.tasks:
        compare_maps(chosen.tasks, n_prompts=chosen.prompts)


def compare_sweeps(name: str, shape: Shape, *, positions: Sequence[str], repeat: int) -> None:
    """Denoising patches on a random model."""
    models = {dtype: random_hooked_model(shape, "bridge", dtype=dtype) for dtype in DTYPES}
    rates = [gemm_rate(shape, device=torch.device("cpu"), dtype=dtype) for dtype in DTYPES]
    batch = random_batch(shape, length=shape.length, shared=0)
    for place in positions:
        sweeps: dict[torch.dtype, xr.Dataset] = {}
        seconds = dict.fromkeys(DTYPES, float("inf"))
        for _ in range(repeat + 1):  # the first time the path is checked too
            for dtype, model in models.items():
                took, sweeps[dtype] = clocked(
                    lambda model=model, place=place: hc.sweep(model, batch, "denoising_patch", positions=place)
                )
                seconds[dtype] = min(seconds[dtype], took)
        exact, short = ((ds.patched - ds.corrupted)[0].values for ds in sweeps.values())
        print(
            f"{name}, {shape.prompts} x {shape.length} tokens, {place}: {described(seconds)}; products of matrices "
            f"{rates[0] / 1e9:.0f} and {rates[1] / 1e9:.0f} GFLOP/s; paths "
            f"{' and '.join(ds.attrs['path'] for ds in sweeps.values())}; {moved(exact, short)}",
            flush=True,
        )


def compare_maps(tasks: Sequence[str], *, n_prompts: int) -> None:
    """A run of the bundled model, with the members of its maps."""
    table, seconds = {}, {}
    for dtype in DTYPES:
        model = hc.load_model("mini", dtype=dtype)
        seconds[dtype], results = clocked(
            lambda model=model: hc.run(model, tasks=list(tasks), n_prompts=n_prompts, progress=False)
        )
        labels = sorted({label.split("@")[0] for task in tasks for label in results[task].children})
        for label in labels:
            table[dtype, label] = hc.score(results, method=label)
    print(f"bundled model, {len(tasks)} tasks x {n_prompts} prompts, default methods: {described(seconds)}")
    for label in labels:
        exact, short = (table[dtype, label] for dtype in DTYPES)
        with warnings.catch_warnings():
            # Categories of one task each are enough to see whether a verdict changes.
            warnings.simplefilter("ignore", StatisticsWarning)
            called = [hc.categorize(scores, min_tasks=1).member.values for scores in (exact, short)]
        apart = abs(short.effect - exact.effect)
        print(
            f"  {label}: an effect moves by {float(apart.max()):.4f} at most, "
            f"{float((apart / exact.standard_error).max()):.2f} standard errors; "
            f"{int((called[0] != called[1]).sum())} of {called[0].size} verdicts change"
        )


def clocked(work: Callable[[], xr.Dataset]) -> tuple[float, xr.Dataset]:
    """Processor seconds, and what came out."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def described(seconds: dict[torch.dtype, float]) -> str:
    """Both times, and how many times faster the shorter type is."""
    exact, short = seconds.values()
    return f"float32 {exact:.2f} s, bfloat16 {short:.2f} s, {exact / short:.2f}x"


def moved(exact: np.ndarray, short: np.ndarray) -> str:
    """How far the mean effect of any head moves, `[prompt, layer, head]`."""
    error = exact.std(0, ddof=1) / len(exact) ** 0.5
    apart = abs(short.mean(0) - exact.mean(0))
    return (
        f"an effect moves by {apart.max():.4f} at most ({abs(exact.mean(0)).max():.2f} the largest), "
        f"{(apart / error).max():.2f} standard errors"
    )


if __name__ == "__main__":
    logging.getLogger("headcats").setLevel(logging.ERROR)
    main()
