"""Series of revisions with known truth, in memory or written as folders, without any model."""

from pathlib import Path

import numpy as np
import xarray as xr
from simulated import CATEGORIES, block, clustered_noise, tree

from headcats.results.manifest import Manifest
from headcats.results.records import CategoryRecord, ModelRecord, PlanRecord, TaskRecord
from headcats.results.run_results import RunResults
from headcats.results.series import RevisionRecord, SeriesFolder, SeriesRecord, series_record

N, SHAPE = 24, (2, 6)
TASKS = {"k1": "Knowledge", "k2": "Knowledge", "l1": "Linguistic", "l2": "Linguistic"}
LABEL = "denoising_patch@last"


def results_of(effects, *, skipped=(), prompts=None, noise=0.05, seed=0):
    """Results of one revision: category -> effects `(layer, head)` of its tasks; noise differs with the seed alone.

    Args:
        effects: Category, or a task that differs from it -> true effects.
        skipped: Tasks that the revision cannot do.
        prompts: Task -> hash of its prompts, where they are not the usual ones.
    """
    blocks = {}
    for place, (task, category) in enumerate(TASKS.items()):
        if task not in skipped:
            draws = np.random.default_rng([seed, place])
            scatter = noise * clustered_noise(draws, items=np.arange(N), heads=SHAPE[0] * SHAPE[1])
            blocks[task] = block(effects.get(task, effects[category]) + scatter.reshape(N, *SHAPE))
            blocks[task] = blocks[task].assign_coords(key=("prompt", [f"{task}/{i}" for i in range(N)]))
    results = tree(blocks, categories=TASKS, name=LABEL)
    records = {
        task: TaskRecord(
            category=category,
            refusal="the model cannot do it" if task in skipped else "",
            prompt_hash=((prompts or {}).get(task, task),),
        )
        for task, category in TASKS.items()
    }
    results.attrs["manifest"] = Manifest(
        plan=PlanRecord(suite="made up", metrics=("logit_diff",)),
        model=ModelRecord(name="toy", layers=(0, 1), heads=(6, 6)),
        categories=tuple(CategoryRecord(entry["name"], entry["colour"]) for entry in CATEGORIES),
        methods=(LABEL,),
        tasks=records,
    ).to_json()
    return results


def series_of(results, *, listed=()):
    """A series of these results; revisions that are `listed` beside them were not run."""
    names = [*results, *listed]
    steps = {name: int(name.removeprefix("step")) if name.startswith("step") else None for name in names}
    record = SeriesRecord("toy", tuple(RevisionRecord(name=name, folder=name, step=steps[name]) for name in names))
    return xr.DataTree(xr.Dataset(attrs={"series": record.to_json()}), children=results)


def heads(**effects):
    """Effects `(layer, head)` with those of some heads, as `L0H1=0.5`."""
    values = np.zeros(SHAPE)
    for name, effect in effects.items():
        values[int(name[1]), int(name[3])] = effect
    return values


STRONG = {"Knowledge": heads(L0H0=0.4, L1H2=0.3), "Linguistic": heads(L0H0=0.4)}


def written(series, folder: Path) -> Path:
    """The series as a folder."""
    target = SeriesFolder(folder)
    record = series_record(series)
    for revision in record.revisions:
        if revision.name in series.children:
            run = RunResults(series.children[revision.name])
            for task, labels in run.tasks.items():
                for label in labels:
                    target.results(revision).write_block(task, label, run.block(task, label))
            target.results(revision).write_manifest(run.manifest)
    target.write(record)
    return folder
