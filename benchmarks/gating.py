"""Head gating on a bundled model: how long it takes, and how well the small preset agrees with the paper's.

Prints, for a category of a suite: the time and the findings of a preset, toggle curves, and the rank correlation of one
seed's scores with those of the paper's preset (which takes minutes).
"""

import argparse
import json
import logging
import time
from collections.abc import Sequence
from pathlib import Path

import torch
import xarray as xr
from scipy.stats import spearmanr

import headcats as hc
from headcats.base.registry import lookup
from headcats.methods.method import SuiteInputs
from headcats.papers.head_gating.over_seeds import always_any
from headcats.papers.head_gating.toggling import toggle_curves
from headcats.prompts.answered import AnsweredText

PAIRS = 1024  # of a task that generates them, as in a study
SCORES = ("facilitation", "interference", "irrelevance")


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("--model", default="mini", help="as hc.load_model takes it (default mini)")
    add("--suite", default="icl")
    add("--category", default="Translation", help="data set (default Translation)")
    add("--work", nargs="+", choices=("preset", "toggle", "compare"), default=("preset",))
    add("--preset", default="chg-mini")
    add("--seeds", type=int, default=10, help="random starts (default 10)")
    add("--demos", type=int, default=5, help="demonstrations per prompt (default 5)")
    add("--threads", type=int, default=2, help="threads of PyTorch (default 2)")
    add("--out", type=Path, help="folder for the fitted gates; a file that is there is read, not fitted again")
    return parser.parse_args(arguments)


def study_inputs(chosen: argparse.Namespace) -> SuiteInputs:
    """What a study would hand the method."""
    suite = hc.suite(chosen.suite)
    tasks = [task for task in suite.tasks if suite.category_of(task).name == chosen.category]
    made = {task.name: task.pairs(PAIRS, seed=0) for task in tasks}
    return SuiteInputs(
        model=hc.load_model(chosen.model),
        tasks=tuple(tasks),
        categories={task.name: chosen.category for task in tasks},
        pairs={name: pairs for name, pairs in made.items() if isinstance(pairs[0], tuple)},
        template=lookup("template", "arrow"),
        n_demos=chosen.demos,
        n_prompts=64,
        seed=0,
    )


def some_texts(inputs: SuiteInputs, n: int, purpose: str) -> list[AnsweredText]:
    """As many texts of every task."""
    return [text for task in inputs.pairs for text in inputs.texts(task, n=n, purpose=purpose)]


def fitted(inputs: SuiteInputs, chosen: argparse.Namespace, *, preset: str, seeds: int) -> xr.Dataset:
    """Seeds of the category under a preset, with their time."""
    method, parts = hc.methods.head_gating, {}
    for seed in range(seeds):
        name = f"{chosen.category}/{seed}"
        file = None if chosen.out is None else chosen.out / f"{chosen.category} {seed} {preset}.nc"
        if file is not None and file.exists():
            parts[name] = xr.load_dataset(file, engine="h5netcdf")
            continue
        started, busy = time.perf_counter(), time.process_time()
        parts[name] = method.on_part(inputs, name, preset=preset, n_seeds=seeds)
        parts[name].attrs["seconds"] = time.perf_counter() - started
        parts[name].attrs["processor_seconds"] = time.process_time() - busy
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            parts[name].to_netcdf(file, engine="h5netcdf")
    seconds, busy = ([float(part.attrs[name]) for part in parts.values()] for name in ("seconds", "processor_seconds"))
    print(
        f"{preset}, {chosen.category}: {seeds} seeds in {sum(seconds):.0f} s, {max(seconds):.0f} s the longest; "
        f"{sum(busy):.0f} s of processor time (on a machine that does other work, the fairer number)"
    )
    return method.join(parts)


def show(gates: xr.Dataset) -> None:
    """Findings of a preset."""
    for line in hc.methods.head_gating.summary(gates):
        print(line)
    reduced = always_any(gates)
    for score in reduced.score.values:
        shares = {name: float(reduced[name].sel(score=score)[0]) for name in ("percent_always", "percent_any")}
        print(f"  {score}: {json.dumps({name: round(value, 1) for name, value in shares.items()})}")


def toggle(inputs: SuiteInputs, gates: xr.Dataset) -> None:
    """What happens when the heads of each score are switched off, on texts of their own; the first three seeds."""
    texts = some_texts(inputs, 64 // len(inputs.pairs), "toggled")
    curves = toggle_curves(inputs.model, texts, gates.isel(seed=slice(3)))
    for score in curves.score.values:
        change, n_high = curves.change.sel(score=score).values, curves.n_high.sel(score=score).values
        print(f"  {score}: {n_high.mean():.1f} heads of at least .5 off change log p by {change.mean():+.4f} nats")
        steps = curves.log_prob.sel(score=score).mean("seed").values
        print("    " + " ".join(f"{value:.3f}" for value in steps[:: max(1, len(steps) // 12)]))


def compare(few: xr.Dataset, full: xr.Dataset) -> None:
    """Rank correlation over heads, of one seed."""
    for score in SCORES:
        pair = [one[score].sel(seed=0).values.ravel() for one in (few, full)]
        largest = max(float(values.max()) for values in pair)
        print(f"  {score}: Spearman {spearmanr(*pair, nan_policy='omit')[0]:.3f} (largest value {largest:.3g})")


def main() -> None:
    """Measure and show."""
    chosen = options()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.set_num_threads(chosen.threads)
    inputs = study_inputs(chosen)
    gates = fitted(inputs, chosen, preset=chosen.preset, seeds=chosen.seeds)
    show(gates)
    if "toggle" in chosen.work:
        toggle(inputs, gates)
    if "compare" in chosen.work:
        compare(gates, fitted(inputs, chosen, preset="chg2025", seeds=1))


if __name__ == "__main__":
    main()
