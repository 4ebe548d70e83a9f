"""Results folders whose heads have chosen effects, written by hand: runs that are to be compared."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from reports.page.saved_runs import KINDS, TASKS, block_of

from headcats.results.folder import ResultsFolder
from headcats.results.manifest import Manifest
from headcats.results.records import BlockRecord, CategoryRecord, MethodRecord, ModelRecord, PlanRecord, TaskRecord

N = 16
PATCH = "denoising_patch@last"
EFFECT = 0.4


def written_run(
    folder: Path,
    members: Mapping[str, Sequence[tuple[int, int]]],
    *,
    shape: tuple[int, int] = (2, 4),
    tasks: Mapping[str, str] = TASKS,
    kinds: Mapping[str, str] = KINDS,
    methods: Sequence[str] = (PATCH,),
    model: str = "toy",
    revision: str | None = None,
    weights: str = "one",
    prompts: str = "",
    seed: int = 0,
    noise: float = 0.01,
    source: str = "",
    created: str = "",
) -> Path:
    """Noise but for the members of each category, which have the same effect on all its tasks.

    Args:
        folder: Of the results.
        members: Category -> layer and head of its members.
        shape: Layers, and heads of each.
        tasks: Task -> category.
        kinds: Category -> colour.
        methods: As method@positions; all have the same numbers.
        model: Name.
        revision: Of the model.
        weights: What stands for their hash.
        prompts: Runs with the same have the same prompts.
        seed: Of the noise.
        noise: Its standard deviation.
        source: Of the model.
        created: When the run began.
    """
    draw, target = np.random.default_rng(seed), ResultsFolder(folder)
    for task, category in tasks.items():
        patched = draw.normal(0, noise, (1, N, *shape))
        for layer, head in members.get(category, ()):
            patched[:, :, layer, head] += EFFECT
        for label in methods:
            keys = [f"{task} {place}" for place in range(N)]
            target.write_block(
                task, label, block_of(patched, range(shape[0]), label).assign_coords(key=("prompt", keys))
            )
    layers = range(shape[0])
    target.write_manifest(
        Manifest(
            plan=PlanRecord(
                suite="made_up", metrics=("logit_diff",), n_prompts=N, n_demos=2, template="arrow", seed=seed
            ),
            model=ModelRecord(
                model, revision, weights, layers=tuple(layers), heads=(shape[1],) * len(layers), source=source
            ),
            categories=tuple(CategoryRecord(name, colour) for name, colour in kinds.items()),
            methods=tuple(methods),
            created=created,
            tasks={task: TaskRecord(name, prompt_hash=(f"{task} {prompts}",)) for task, name in tasks.items()},
            blocks={label: MethodRecord({task: BlockRecord() for task in tasks}) for label in methods},
        )
    )
    return folder
