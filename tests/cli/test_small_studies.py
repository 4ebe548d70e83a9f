"""Small studies through every command that reads results: each ends, and a report can always be written."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from covering import ALL, each_value, some
from reports.page.saved_runs import KINDS, TASKS, gated_run, run_without_heads, scored_run
from reports.page.synthetic_runs import PATCH, N, written_run

import headcats as hc
from headcats.base.errors import StatisticsWarning
from headcats.base.registry import names
from headcats.evidence import held_out
from headcats.evidence.damage import TaskDamage
from headcats.evidence.held_out import HeldOut
from headcats.reports.page.saved import saved_evidence
from headcats.results.loading import open_results
from headcats.results.place import find_place
from headcats.study import evidence_run

MEMBERS = {"Knowledge": [(0, 1)], "Translation": [(1, 2)]}
STUDIES: dict[str, Callable[[Path], Path]] = {
    "two categories of two": lambda folder: written_run(folder, MEMBERS),
    "one task": lambda folder: written_run(folder, MEMBERS, tasks={"a": "Knowledge"}),
    "one of each": lambda folder: written_run(folder, MEMBERS, tasks={"a": "Knowledge", "b": "Translation"}),
    "one prompt item": lambda folder: scored_run(folder, per_layer={0: 2, 1: 2}, n_items=1),
    "no members": lambda folder: written_run(folder, {}),
    "nothing varies": lambda folder: written_run(folder, MEMBERS, noise=0),
    "no number": lambda folder: written_run(folder, MEMBERS, noise=np.nan),
    "one head": lambda folder: written_run(folder, {}, shape=(1, 1)),
    "one and three": lambda folder: written_run(folder, MEMBERS, tasks={**TASKS, "t_one": "Knowledge"}),
    "two methods": lambda folder: written_run(folder, MEMBERS, methods=[PATCH, "noising_patch@last"]),
    "layers of other sizes": lambda folder: scored_run(folder, per_layer={1: 3, 3: 2}),
    "a joint method": lambda folder: gated_run(folder, np.random.default_rng(0).random((1, 2, 2, 3))),
    "no heads": run_without_heads,
}
COMMANDS = [
    "map r --details",
    "map r --csv",
    "map r --json",
    "map r --effect task_specific",
    "map r --sign suppressing --min-tasks 1",
    "compare r --details",
    "merge r --out all",
    *(f"export r --format {format} --out effects.{format}" for format in ("csv", "parquet", "mib")),
    *(f"figure {name} r --out figure.html" for name in names("figure")),
]


NOTHING_TO_REPORT = {"no number"}
"""Studies of which a report, too, says in a sentence what they lack."""


@pytest.mark.parametrize("study", STUDIES)
def test_a_small_study_has_a_report_and_commands_end(headcats, study: str) -> None:
    """What it cannot answer is one sentence; every study has its share of the commands."""
    STUDIES[study](Path("r"))
    done = headcats("report", "r")
    assert bool(done.code) == (study in NOTHING_TO_REPORT), done
    share = COMMANDS if ALL else COMMANDS[list(STUDIES).index(study) :: len(STUDIES)]
    for command in share:
        done = headcats(*command.split())
        if done.code:
            done.check_one_message()


@dataclass(frozen=True)
class Damage:
    """What ablation is said to do: a mean share of the gap, to the tasks of the own category alone or to all."""

    mean: float
    everywhere: bool = True

    def measured(self, batches, sets, *, reference: dict[str, str], **options):
        """As `measure_tasks`; heads of layer 0 serve the first category, which the `reference` names."""
        draw, first = np.random.default_rng(0), next(iter(reference.values()))
        damages = {}
        for task, of_task in sets.items():
            ordered = sorted({tuple(sorted(heads)) for heads in of_task if heads})
            serves = [self.everywhere or (heads[0].layer == 0) == (reference[task] == first) for heads in ordered]
            drop = draw.normal(0, 0.001, (N, len(ordered))) + self.mean * np.array(serves)
            columns = {heads: place for place, heads in enumerate(ordered)}
            damages[task] = TaskDamage(drop, np.ones(N), columns)
        return damages, {}


DAMAGES = [Damage(0.3, everywhere=False), Damage(0), Damage(0.3)]


@pytest.mark.parametrize(
    ("sizes", "damage", "shared"),
    some(each_value([(1, 3), (2, 2), (1,), (1, 1), (3, 4), (2,), (4, 4)], DAMAGES, [False, True]), 4),
)
def test_a_test_of_few_tasks_has_a_report(headcats, monkeypatch, sizes, damage, shared) -> None:
    """Ablations are made up; all that is computed from them is as always."""
    tasks = {f"{kind[0]}{place}": kind for kind, size in zip(KINDS, sizes, strict=False) for place in range(size)}
    written_run(Path("r"), MEMBERS, tasks=tasks)
    nothing = dict.fromkeys(tasks, ())
    held = HeldOut(nothing, tasks, {task: "shared" if shared else task for task in tasks}, nothing, (), {}, tasks)
    monkeypatch.setattr(evidence_run, "restored_model", lambda *given, **where: SimpleNamespace(n_heads={0: 4, 1: 4}))
    monkeypatch.setattr(evidence_run, "restored_study", lambda *given: None)
    monkeypatch.setattr(evidence_run, "checked_preparation", lambda *given: None)
    monkeypatch.setattr(evidence_run, "held_out_prompts", lambda *given, **options: held)
    monkeypatch.setattr(held_out, "measure_tasks", damage.measured)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)
        evidence = hc.run_evidence("toy", "r", relabellings=19)
    assert not np.isinf(evidence["relabelling"]["maximum"]).any()
    assert headcats("report", "r").code == 0
    assert "evidence" in saved_evidence(open_results(find_place("r"))).contents
    for figure in ("relabelled_tasks",):
        done = headcats("figure", figure, "r", "--out", "figure.html")
        if done.code:
            done.check_one_message()
