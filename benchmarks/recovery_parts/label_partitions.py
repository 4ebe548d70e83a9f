"""The tasks of a finished run with other labels: real effects, real joint ablations, headcats' own verdicts."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import headcats as hc
from headcats.categories.map_spec import MapSpec, resolve_tested
from headcats.evidence.chosen_heads import chosen_sets
from headcats.evidence.damage import done_here, measure_tasks
from headcats.evidence.held_out import Options, labelled_study
from headcats.evidence.specificity import tested_categories
from headcats.results.run_results import RunResults
from headcats.study.evidence_run import checked_preparation, held_out_prompts, scores_of_halves
from headcats.study.restore import restored_model, restored_study
from headcats.sweeps.tree import HeadSet
from recovery_parts.label_worlds import outcomes

PROMPTS = 16


class Bench:
    """A finished run whose damages are measured once for every set of heads that any partition needs."""

    def __init__(self, folder: Path, *, relabellings: int, seed: int) -> None:
        run = RunResults(hc.load(folder))
        self.options = Options(relabellings=relabellings, seed=seed)
        self.model = restored_model(run, run.manifest.model.name)
        self.halves = scores_of_halves(run, resolve_tested(MapSpec.parse(), run), seed=seed)
        tasks = self.halves[0]["task"].values.tolist()
        self.held = held_out_prompts(
            checked_preparation(self.model, run, restored_study(run)),
            run,
            tasks,
            n_prompts=PROMPTS,
            seed=seed,
            positions="last",
        )
        self.categories = [entry["name"] for entry in json.loads(self.halves[0].attrs["categories"])]
        self.damages: dict[str, dict[HeadSet, float]] = {task: {} for task in self.held.batches}

    def verdicts(self, rng: np.random.Generator) -> dict[str, Any]:
        """What `evidence` says of a random partition; categories keep their sizes."""
        tasks = list(self.held.batches)
        names = rng.permutation([self.held.category_of[task] for task in tasks])
        category_of = {**self.held.category_of, **dict(zip(tasks, names.tolist(), strict=True))}
        study = labelled_study(replace(self.held, category_of=category_of), self.halves, self.categories, self.options)
        chosen = dict(
            zip(study.tasks, chosen_sets(study.effects[0], study.stratified.labellings, study.heads), strict=True)
        )
        for task, (sets, _) in chosen.items():
            self._measure(task, sets)
        shares = {task: np.array([self.damages[task][heads] for heads in sets]) for task, (sets, _) in chosen.items()}
        return outcomes(
            tested_categories(study.effects, study.stratified, chosen, shares, categories=self.categories)[0]
        )

    def _measure(self, task: str, sets: list[HeadSet]) -> None:
        known = self.damages[task]
        new = [heads for heads in sets if heads not in known]
        if not new:
            return
        measured, _ = measure_tasks(
            {task: self.held.batches[task]},
            {task: new},
            reference=self.held.reference,
            positions=self.options.positions,
            work=done_here(self.model),
        )
        shares = measured[task].shares(new).tolist() if task in measured else [float("nan")] * len(new)
        known |= dict(zip(new, shares, strict=True))
