"""What the function probe finds in a model: how often it is right, whether planted heads come first, and scaling.

`python benchmarks/function_probe.py --model mini --suite icl`; `--quick` shows that it runs and measures nothing.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
import xarray as xr

import headcats as hc
from headcats.base.errors import DataError
from headcats.methods.method import SuiteInputs
from headcats.models.adapter import HookedModel
from headcats.models.head import Head
from headcats.papers.function_probe.features import HeadFeatures, head_features
from headcats.papers.function_probe.scaling import scale_function_heads
from headcats.papers.function_probe.seed import probe_seed
from headcats.papers.function_probe.settings import POSITIONS, PRESETS, FunctionProbeSettings
from headcats.papers.function_probe.splits import item_of
from headcats.prompts.answered import AnsweredText
from headcats.prompts.template import ARROW
from headcats.statistics.random_streams import stream

POOL = 1024


def options(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("--model", default="mini", help="bundled model, folder or hub name (default mini)")
    add("--suite", default="icl", help="suite whose categories are the functions (default icl)")
    add("--prompts", type=int, default=64, help="texts per task (default 64)")
    add("--demos", type=int, default=5, help="demonstrations per text (default 5)")
    add("--seeds", type=int, default=5, help="probes (default 5)")
    add("--at", choices=POSITIONS, default=POSITIONS[0], help="where z of an answer token is taken")
    add("--strength", type=float, default=3.0, help="planted direction, in standard deviations (default 3)")
    add("--scaled", type=int, default=8, help="fresh texts per task for the scaling check (default 8)")
    add("--controls", type=int, default=20, help="random head sets of the scaling check (default 20)")
    add("--threads", type=int, default=1)
    add("--quick", action="store_true", help="few epochs and texts")
    return parser.parse_args(arguments)


def suite_inputs(model: HookedModel, chosen: argparse.Namespace) -> SuiteInputs:
    """The suite as a study hands it to a method."""
    suite = hc.suite(chosen.suite)
    pairs = {task.name: task.pairs(POOL, seed=0) for task in suite.tasks}
    return SuiteInputs(
        model=model,
        tasks=suite.tasks,
        categories={task.name: suite.category_of(task).name for task in suite.tasks},
        pairs={name: found for name, found in pairs.items() if isinstance(found[0], tuple)},
        template=ARROW,
        n_demos=chosen.demos,
        n_prompts=chosen.prompts,
        seed=0,
    )


def texts_of(inputs: SuiteInputs, *, n: int, purpose: str) -> list[AnsweredText]:
    """Texts of every task of word pairs."""
    return [text for task in inputs.pairs for text in inputs.texts(task, n=n, purpose=purpose)]


def planted(
    features: HeadFeatures, settings: FunctionProbeSettings, *, seeds: int, strength: float
) -> dict[str, tuple[Head, list[int]]]:
    """Rank of a planted head for its function, per seed, among the model's own head outputs.

    Four functions are drawn by lot for every query item, so that nothing in the model tells them; to the texts of each,
    one head's output is shifted in a direction of its own, and the mean of its layer with it.
    """
    draws = stream(0, "planted functions")
    functions = ("one", "two", "three", "four")
    items = sorted({item_of(text) for text in features.texts})
    lot = dict(zip(items, draws.integers(len(functions), size=len(items)).tolist(), strict=True))
    labels = np.array([lot[item_of(text)] for text in features.texts])
    values, d = features.values.clone(), features.values.shape[2] // 2
    heads = [features.heads[place] for place in draws.permutation(len(features.heads))[: len(functions)]]
    for number, head in enumerate(heads):
        place = features.heads.index(head)
        own = values[:, place, :d]
        direction = torch.nn.functional.normalize(torch.tensor(draws.normal(size=d), dtype=torch.float32), dim=0)
        spread = (own @ direction).std()  # a head whose output hardly varies gets a small shift
        layer = [other for other, one in enumerate(features.heads) if one.layer == head.layer]
        shift = strength * spread * torch.from_numpy(labels == number).float()[:, None] * direction
        values[:, place, :d] += shift
        values[:, layer, d:] += shift[:, None] / len(layer)
    texts = tuple(
        replace(text, category=functions[label], task="") for text, label in zip(features.texts, labels, strict=True)
    )
    world = replace(features, values=values, texts=texts)
    ranks: dict[str, tuple[Head, list[int]]] = {name: (head, []) for name, head in zip(functions, heads, strict=True)}
    for probe in range(seeds):
        try:
            found = probe_seed(world, functions, settings=settings, seed=0, probe=probe)
        except DataError as problem:
            print(f"  seed {probe} refused: {problem}")
            continue
        order = np.argsort(-np.abs(found.importance), axis=1)
        for number, (head, places) in enumerate(ranks.values()):
            places.append(1 + order[number].tolist().index(features.heads.index(head)))
    return ranks


def show_probes(probes: xr.Dataset, seconds: float) -> None:
    """Accuracies, tasks that are not recognised, and the first heads of every function."""
    for line in hc.methods.function_probe.summary(probes):
        print(f"  {line}")
    for row in probes.seed.values.tolist():
        one = probes.sel(seed=row)
        out = f"{float(one.left_out_accuracy):.3f} [{float(one.left_out_low):.3f}, {float(one.left_out_high):.3f}]"
        print(
            f"  seed {row}: held out {float(one.accuracy):.3f} [{float(one.accuracy_low):.3f}, "
            f"{float(one.accuracy_high):.3f}], chance {float(one.chance):.3f}; left-out tasks {out}, chance "
            f"{float(one.left_out_chance):.3f}"
        )
    known = probes.task_left_out_accuracy.isel(seed=0).to_series().sort_values()
    print("  left-out tasks, worst first:", ", ".join(f"{name} {share:.2f}" for name, share in known.items()))
    effects = abs(probes.importance).mean("seed")
    for name in probes.function.values:
        ranked = effects.sel(function=name).to_series().sort_values(ascending=False)[:6]
        print(f"  {name}: " + ", ".join(f"{Head(*cell)} {value:.4f}" for cell, value in ranked.items()))
    print(f"  {seconds:.0f} s for {probes.sizes['seed']} seeds, tasks left out in the first")


def main() -> None:
    """Measure and show."""
    chosen = options(sys.argv[1:])
    torch.set_num_threads(chosen.threads)
    settings = replace(PRESETS["cogmirrors2025"], at=chosen.at)
    if chosen.quick:
        settings = replace(settings, epochs=3, hidden=64)
        chosen.prompts, chosen.scaled, chosen.seeds, chosen.controls = 16, 2, 2, 3
    model = hc.load_model(chosen.model)
    inputs = suite_inputs(model, chosen)
    texts = texts_of(inputs, n=chosen.prompts, purpose="function_probe")
    started = time.monotonic()
    features = head_features(model, texts, settings=settings)
    print(f"{chosen.model}, suite {chosen.suite}: {features.report.summary()}; {tuple(features.values.shape)}")
    print(f"  head outputs in {time.monotonic() - started:.1f} s")
    started = time.monotonic()
    probes = hc.methods.function_probe(model, texts, preset=settings, n_seeds=chosen.seeds)
    show_probes(probes, time.monotonic() - started)
    print(f"Planted heads ({chosen.strength:g} standard deviations), rank for their function in each seed:")
    for name, (head, ranks) in planted(features, settings, seeds=chosen.seeds, strength=chosen.strength).items():
        print(f"  {name} {head}: {ranks}, first in {sum(rank == 1 for rank in ranks)} of {chosen.seeds}")
    heads = hc.categorize(probes).member  # up to the elbow
    fresh = texts_of(inputs, n=chosen.scaled, purpose="function_probe scaling")
    scaled = scale_function_heads(model, fresh, heads, n_controls=chosen.controls)
    print(f"Heads up to the elbow scaled by {scaled.attrs['scale']:g}, on {len(fresh)} fresh texts:")
    for name in scaled.function.values:
        own = scaled.sel(function=name, target=name)
        rest = scaled.sel(function=name).drop_sel(target=name)
        moved = {
            "accuracy": (own.clean_accuracy, own.accuracy, own.control_accuracy.mean()),
            "log-prob": (own.clean_log_prob, own.log_prob, own.control_log_prob.mean()),
            "log-prob of the other functions": (
                rest.clean_log_prob.mean(),
                rest.log_prob.mean(),
                rest.control_log_prob.mean(),
            ),
        }
        told = [
            f"{what} {float(clean):.3f} to {float(now):.3f} (random heads {float(random):.3f})"
            for what, (clean, now, random) in moved.items()
        ]
        p_values = f"p {float(own.p):.3f}, specific {float(own.p_specific):.3f}"
        print(f"  {name}, {int(own.n_heads)} heads: {', '.join(told)}; {p_values}")


if __name__ == "__main__":
    main()
