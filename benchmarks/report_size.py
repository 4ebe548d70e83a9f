"""Size of a report, and how long it takes to write, to open and to use: 80 x 64 heads, 30 tasks, three methods.

    python benchmarks/report_size.py [--layers 80] [--heads 64] [--tasks 30] [--prompts 14] [--out report.html]

The results are made up: four in a hundred heads per category have an effect, the others are noise. Fourteen
query items are few, so that their signs can all be tried; with more, scoring takes longer, and the page stays the same.
Opening is timed in headless Chromium (/usr/bin/chromium), from the start of the navigation to the moment when the large
map is drawn, when the numbers of all heads can be asked for, and when every figure is drawn, those behind tabs as well.
Then three heads are opened, and all methods shown in turn: from the click to the picture, the largest is printed.
"""

import argparse
import tempfile
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import xarray as xr
from playwright.sync_api import sync_playwright

import headcats as hc
from headcats.base.errors import StatisticsWarning
from headcats.results.folder import ResultsFolder
from headcats.results.manifest import Manifest
from headcats.results.records import BlockRecord, CategoryRecord, DropCounts, ModelRecord, PlanRecord, TaskRecord

CATEGORIES = {"Algorithmic": "#1f77b4", "Knowledge": "#ff7f0e", "Linguistic": "#2ca02c", "Translation": "#d62728"}
METHODS = ("denoising_patch@last", "mean_ablation@all", "zero_ablation@last")
CHROMIUM = "/usr/bin/chromium"
HERO = "#figure-hero_0"
# From a click until the browser has painted.
PAINTED = "const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));"
OPEN_HEAD = f"""async (head) => {{
  {PAINTED}
  const start = performance.now();
  document.querySelector(`[data-head="${{head}}"]`).click();
  do await painted(); while (!document.querySelector("#head .js-plotly-plot .point"));
  return performance.now() - start;
}}"""
SWITCH = f"""async (place) => {{
  {PAINTED}
  const start = performance.now(), choice = document.getElementById("map-choice");
  choice.value = place;
  choice.dispatchEvent(new Event("change"));
  do await painted(); while (!document.querySelector(`.map[data-map="${{place}}"] .main-svg`)?.checkVisibility());
  return performance.now() - start;
}}"""


def main() -> None:
    """Write the results, the report, and what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("layers", 80), ("heads", 64), ("tasks", 30), ("prompts", 14)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "results"
        write_results(folder, shape=(asked.layers, asked.heads), n_tasks=asked.tasks, n_prompts=asked.prompts)
        results = hc.load(folder)
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StatisticsWarning)
            page = hc.report(results, asked.out)
        print(f"{asked.layers} x {asked.heads} heads, {asked.tasks} tasks, {len(METHODS)} methods")
        print(f"written in {time.perf_counter() - started:.0f} s, {page.stat().st_size / 1e6:.2f} MB")
        for name, seconds in opened(page).items():
            print(f"{name}: {seconds:.2f} s")


def write_results(folder: Path, *, shape: tuple[int, int], n_tasks: int, n_prompts: int) -> None:
    """A results folder as `hc.run` leaves it, with made-up numbers."""
    draw = np.random.default_rng(0)
    tasks = {f"task_number_{place}": list(CATEGORIES)[place % len(CATEGORIES)] for place in range(n_tasks)}
    target = ResultsFolder(folder)
    planted = {name: draw.random(shape) < 0.04 for name in CATEGORIES}
    for task, category in tasks.items():
        for label in METHODS:
            effect = 0.2 * planted[category] + draw.normal(0, 0.003, shape)
            target.write_block(task, label, block(effect, label, n_prompts=n_prompts, draw=draw))
    target.write_manifest(manifest(tasks, shape))


def block(effect: np.ndarray, label: str, *, n_prompts: int, draw: np.random.Generator) -> xr.Dataset:
    """Prompts that scatter around the effects of the heads."""
    method, _, positions = label.partition("@")
    base = "clean" if "ablation" in method else "corrupted"
    differences = effect + draw.normal(0, 0.05, (n_prompts, *effect.shape))
    start = 1.0 if base == "clean" else 0.0
    patched = start + (-differences if base == "clean" else differences)
    items = [f"item {place}" for place in range(n_prompts)]
    variables = {
        "patched": (("metric", "prompt", "layer", "head"), patched[None].astype(np.float32)),
        "clean": (("metric", "prompt"), np.ones((1, n_prompts))),
        "corrupted": (("metric", "prompt"), np.zeros((1, n_prompts))),
    }
    layers, heads = (np.arange(size) for size in effect.shape)
    coords = {"metric": ["logit_diff"], "item": ("prompt", items), "layer": layers, "head": heads}
    return xr.Dataset(variables, coords=coords, attrs={"base": base, "method": method, "positions": positions})


def manifest(tasks: dict[str, str], shape: tuple[int, int]) -> Manifest:
    """What `hc.run` writes beside the blocks."""
    kept = DropCounts(64)
    numbers = {"accuracy": 0.9, "corrupted_accuracy": 0.1, "gap": 1.0, "low": 0.9, "high": 1.1, "n_items": 64}
    counts = dict.fromkeys(("word_pairs", "prompts", "reference_prompts"), kept)
    record = TaskRecord(source="made up", metric="logit_diff", **counts, **numbers)
    return Manifest(
        plan=PlanRecord(suite="icl", metrics=("logit_diff",), template="arrow"),
        model=ModelRecord(
            name="made-up",
            weights_hash="0" * 32,
            model_class="TransformerBridge",
            weight_processing="none",
            dtype="float32",
            device="cpu",
            layers=tuple(range(shape[0])),
            heads=(shape[1],) * shape[0],
        ),
        categories=tuple(CategoryRecord(name, colour) for name, colour in CATEGORIES.items()),
        methods=METHODS,
        tasks={task: replace(record, category=category) for task, category in tasks.items()},
        blocks={
            task: {label: BlockRecord(path="last_position", self_check="passed") for label in METHODS} for task in tasks
        },
        versions={"headcats": hc.__version__},
        created="2026-01-01T00:00:00+00:00",
    )


def opened(page: Path) -> dict[str, float]:
    """Seconds until parts of the page are there, and for what a reader does then."""
    marks = {
        "large map drawn": f"document.querySelector('{HERO} .main-svg') && performance.now()",
        "heads ready": "document.documentElement.dataset.heads === 'ready' && performance.now()",
        "all figures drawn": "document.documentElement.dataset.drawn === 'all' && performance.now()",
    }
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1440, "height": 900})
        tab.goto(page.resolve().as_uri())
        found = {name: tab.wait_for_function(mark, timeout=120_000).json_value() / 1000 for name, mark in marks.items()}
        heads = tab.evaluate("[...new Set([...document.querySelectorAll('[data-head]')].map((b) => b.dataset.head))]")[
            :3
        ]
        found["a head opened"] = max(tab.evaluate(OPEN_HEAD, head) / 1000 for head in heads)
        methods = range(tab.locator("#map-choice option").count())
        found["a method switched"] = max(tab.evaluate(SWITCH, str(place)) / 1000 for place in [*methods, 0])
        browser.close()
    return found


if __name__ == "__main__":
    main()
