"""What the position of z does to the function probe: its heads where an answer is predicted and at the answer itself.

`python benchmarks/probe_positions.py` (mini-cognitive); `--quick` shows that it runs and measures nothing.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence

import torch
import xarray as xr

import headcats as hc
from headcats.papers.function_probe.settings import POSITIONS, FunctionProbeSettings
from headcats.papers.function_probe.summary import seed_agreement
from headcats.statistics.agreement import rank_correlation

CAUSAL = ("denoising_patch", "mean_ablation")
_MEANS = ("accuracy", "word_accuracy", "chance")


def options(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("--model", default="mini-cognitive", help="bundled model, folder or hub name (default mini-cognitive)")
    add("--suite", default="cognitive", help="suite whose categories are the functions (default cognitive)")
    add("--prompts", type=int, default=64, help="texts per task (default 64)")
    add("--patched", type=int, default=16, help="prompts per task of the causal methods (default 16)")
    add("--demos", type=int, default=4, help="demonstrations per text (default 4)")
    add("--seeds", type=int, default=5, help="probes at each position (default 5)")
    add("--threads", type=int, default=1)
    add("--quick", action="store_true", help="few epochs, texts and tasks")
    return parser.parse_args(arguments)


def heads_of(probes: xr.Dataset) -> xr.DataArray:
    """True for heads up to the elbow."""
    return hc.categorize(probes).member == 1


def show_functions(by_position: dict[str, xr.Dataset]) -> None:
    """Function by function: rank correlations of absolute importance, and shared heads up to the elbow."""
    first, second = (by_position[at] for at in POSITIONS)
    seeds = {at: seed_agreement(probes) for at, probes in by_position.items()}
    print("function | between positions | seeds, predicting | seeds, answer | heads up to the elbow | shared")
    for name in first.function.values:
        flat = [abs(probes.importance.sel(function=name)).mean("seed").values.ravel() for probes in (first, second)]
        chosen = [heads_of(probes).sel(category=name) for probes in (first, second)]
        numbers = [rank_correlation(*flat), *(float(seeds[at].sel(function=name)) for at in POSITIONS)]
        counts = " and ".join(str(int(heads.sum())) for heads in chosen)
        shared = int((chosen[0] & chosen[1]).sum())
        print(f"{name} | " + " | ".join(f"{number:.2f}" for number in numbers) + f" | {counts} | {shared}")


def show_agreement(scores: xr.Dataset, by_position: dict[str, xr.Dataset]) -> None:
    """Rank correlation of every pair of methods, median of the functions and range, with the probe at each position."""
    for at, probes in by_position.items():
        strength = abs(probes.importance).mean("seed").rename(function="group")
        strength = strength.sel(group=scores.group).expand_dims(method=[f"function_probe:at={at}"])
        seeds = xr.full_like(strength.isel(layer=0, head=0, drop=True), probes.sizes["seed"], dtype=int)
        row = xr.Dataset({"strength": strength, "n": seeds}).assign_coords(
            kind=("method", ["probe"]), reduction=("method", ["mean over seeds"]), metric=("method", [""])
        )
        scores = xr.concat([scores, row.drop_vars("kv_head", errors="ignore")], "method", join="exact")
    found = hc.evidence.method_agreement(scores).rank_correlation
    names = [str(name) for name in found["method"].values]
    for place, name in enumerate(names):
        for other in names[place + 1 :]:
            values = found.sel({"method": name, "other": other})
            spread = f"{float(values.min()):.2f} to {float(values.max()):.2f}"
            print(f"  {name} and {other}: {float(values.median()):.2f} ({spread})")


def main() -> None:
    """Measure and show."""
    chosen = options(sys.argv[1:])
    torch.set_num_threads(chosen.threads)
    few = {"epochs": 3, "hidden": 64} if chosen.quick else {}
    tasks = None
    if chosen.quick:
        chosen.prompts, chosen.patched, chosen.seeds = 24, 8, 2
        tasks = ["plural_of", "tense", "number_sum", "number_difference"]
    model, started = hc.load_model(chosen.model), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        run = hc.run(
            model, suite=chosen.suite, methods=list(CAUSAL), tasks=tasks, n_prompts=chosen.patched,
            n_demos=chosen.demos, out=folder,
        )  # fmt: skip
        scores = hc.evidence.method_scores(run).load()
    names = tasks or [task.name for task in hc.suite(chosen.suite).tasks]
    of_suite = {"suite": chosen.suite, "n_prompts": chosen.prompts, "n_demos": chosen.demos}
    texts = [text for name in names for text in hc.methods.task_texts(name, **of_suite)]
    print(f"{chosen.model}, suite {chosen.suite}: {len(texts)} texts, {chosen.seeds} seeds")
    by_position = {}
    for at in POSITIONS:
        settings = FunctionProbeSettings(at=at, left_out_seeds=0, **few)
        by_position[at] = hc.methods.function_probe(model, texts, preset=settings, n_seeds=chosen.seeds)
        means = ", ".join(f"{name} {float(by_position[at][name].mean()):.3f}" for name in _MEANS)
        print(f"at={at}: {means}, largest p of words {float(by_position[at].word_p.max()):.2g}", flush=True)
    show_functions(by_position)
    print("Rank correlation over heads, median of the functions:")
    show_agreement(scores, by_position)
    print(f"{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
