"""`headcats demo`: the whole tool on models whose heads are known, and once more with the labels shuffled."""

import contextlib
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import jinja2
import xarray as xr

from headcats.base.errors import StatisticsWarning
from headcats.categories.map_result import verdicts_of
from headcats.categories.membership import categorize, head_table
from headcats.categories.shared import overlap
from headcats.figures.overlap_map import overlap_map
from headcats.figures.static.svg import svg
from headcats.models.adapter import HookedModel
from headcats.papers.planted.compiled import circuits, compiled_model, prompts, true_effects
from headcats.papers.planted.planted_model import planted_model
from headcats.papers.planted.planted_tasks import CATEGORIES, TASKS, Jobs, PlannedJobs, of_kind, place, prompt_pairs
from headcats.results.manifest import Manifest
from headcats.results.records import CategoryRecord, TaskRecord
from headcats.results.stored_run import tree
from headcats.results.whole_file import write_whole
from headcats.rules import fdr
from headcats.scores.scoring import score
from headcats.statistics.random_streams import stream
from headcats.study.evidence_run import run_evidence
from headcats.study.runner import run
from headcats.sweeps.batch_sweep import sweep
from headcats.tasks.definition import Task

_A, _K, _L, _T = CATEGORIES
HEADS: PlannedJobs = (
    *(("helping", (category,), 1) for category in CATEGORIES),
    ("helping", (_A, _K), 1), ("helping", (_K, _L), 1), ("helping", (_L, _T), 1),
)  # fmt: skip
"""Seven heads that serve one or two categories; 25 others serve none, and all are noisy."""
# Shares of the gap, of the settings in benchmarks/RECOVERY.md: the second largest effect, and the least noise.
_EFFECT, _NOISE = 0.2, 0.1
_PROMPTS, _WRITTEN = 32, 160  # scored; and all, so that evidence has fresh ones
_METHOD = "denoising_patch"
_OF = f"of {len(CATEGORIES)}"
_RULE = fdr(alpha=0.05, min_effect=0.05)


@dataclass(frozen=True)
class Labelled:
    """Heads and verdicts under one labelling of the planted tasks."""

    found: int  # heads with exactly the categories that were planted
    false: int  # memberships that were not planted
    verdicts: Mapping[str, str]
    picture: str  # SVG

    @property
    def supported(self) -> int:
        """Number of categories that are supported."""
        return sum(verdict == "supported" for verdict in self.verdicts.values())


@dataclass(frozen=True)
class Shown:
    """Numbers of a demonstration."""

    planted: int
    true: Labelled
    shuffled: Labelled
    serving: int  # heads that serve a task of the compiled program, over its tasks
    compiled_found: int
    compiled_false: int
    page: Path


def show(out: Path, *, seed: int, tell: Callable[[str], None]) -> Shown:
    """Plant heads, find them, shuffle the labels; find the heads of a compiled program; write a page."""
    jobs = place(effect=_EFFECT, seed=seed, jobs=HEADS)
    model = planted_model(jobs, noise=_NOISE, seed=seed)
    planted = len(of_kind(jobs, "helping"))
    tell(f"A model of {len(model.heads)} heads, {planted} of which were made to serve categories of tasks:")
    true = _labelled(model, jobs, TASKS, out / "planted", seed=seed)
    tell(f"  planted {planted}, found {true.found}, false {true.false}; supported: {true.supported} {_OF}")
    shuffled_labels = _shuffled(seed)
    tell("The same model, with the labels of its tasks shuffled:")
    shuffled = _labelled(model, jobs, shuffled_labels, out / "shuffled", seed=seed)
    tell(f"  supported: {shuffled.supported} {_OF}")
    tell("A program, compiled into a transformer:")
    serving, found, false = _compiled()
    tell(f"  heads that serve its {len(circuits()['tasks'])} tasks {serving}, found {found}, false {false}")
    shown = Shown(planted, true, shuffled, serving, found, false, out / "demo.html")
    template = jinja2.Template(Path(__file__).with_name("page.html").read_text(encoding="utf-8"), autoescape=True)
    write_whole(shown.page, template.render(shown=shown, n_heads=len(model.heads), seed=seed, out=out).encode("utf-8"))
    return shown


def _shuffled(seed: int) -> dict[str, str]:
    """Task -> category: each gets one task of every category there was, or most of one could stay together."""
    draws, names = stream(seed, "shuffled labels"), list(CATEGORIES)
    labels: dict[str, str] = {}
    for category in names:
        tasks = [task for task, of_task in TASKS.items() if of_task == category]
        labels |= dict(zip(tasks, (names[place] for place in draws.permutation(len(names))), strict=True))
    return {task: labels[task] for task in TASKS}


def _labelled(model: HookedModel, jobs: Jobs, labels: Mapping[str, str], out: Path, *, seed: int) -> Labelled:
    """Run, map and evidence, as everybody would call them, with these categories."""

    def of_task(task: str, category: str) -> Task:
        made = prompt_pairs(task, n=_WRITTEN, seed=seed)
        # Each its own group: that they share their heads is what is planted, not a sign of one source.
        return Task(task, category, "headcats demo", lambda n, *, seed: made, group=task)

    # In the order of the categories, which is that of the panels.
    suite = [of_task(task, labels[task]) for category in CATEGORIES for task in labels if labels[task] == category]
    with warnings.catch_warnings(), _silent():
        warnings.simplefilter("ignore", StatisticsWarning)
        results = run(model, suite=suite, methods=[_METHOD], n_prompts=_PROMPTS, seed=seed, out=out, progress=False)
        members = overlap(categorize(score(results, method=_METHOD), rule=_RULE, min_tasks="half"))
        evidence = run_evidence(model, out)
    heads = head_table(members)
    called = set(heads.loc[heads["kind"] == "helping", ["head", "category"]].itertuples(index=False, name=None))
    planted = {(str(head), category) for head, job in jobs.items() for category in job.categories}
    exact = [
        head
        for head, job in jobs.items()
        if job.categories and {category for name, category in called if name == str(head)} == set(job.categories)
    ]
    picture = svg(overlap_map(members, layout="hero", title="")) or ""
    return Labelled(len(exact), len(called - planted), verdicts_of(evidence), picture)


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    log = logging.getLogger("headcats")
    before = log.level
    log.setLevel(logging.WARNING)
    try:
        yield
    finally:
        log.setLevel(before)


def _compiled() -> tuple[int, int, int]:
    """Heads that serve the tasks of the compiled program by its interpreter, those that are found, and others found."""
    model, tasks = compiled_model(), list(circuits()["tasks"])
    sweeps = {(task, f"{_METHOD}@all"): sweep(model, prompts(task), _METHOD, positions="all") for task in tasks}
    manifest = Manifest(
        tasks=dict.fromkeys(tasks, TaskRecord("Circuits")), categories=(CategoryRecord("Circuits", "#1f77b4"),)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)
        called = _RULE(score(tree(sweeps, manifest), method=_METHOD)).sel(task=tasks).transpose("task", "layer", "head")
    true = xr.concat(
        [(true_effects(task, method=_METHOD, positions="all") != 0).any("prompt") for task in tasks], "task"
    )
    is_called = called.values == 1
    return int(true.sum()), int((is_called & true.values).sum()), int((is_called & ~true.values).sum())
