"""`hc.report`: one self-contained page from saved results."""

import contextlib
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import xarray as xr

from headcats.base.errors import DataError, StatisticsWarning
from headcats.categories.argument_checks import check_rule
from headcats.categories.map_result import MapResult
from headcats.categories.map_spec import MapSpec, refuse_unused
from headcats.categories.run_maps import joint_map
from headcats.evidence.comparison.runs import Runs, read_runs
from headcats.reports.page.first_screen import first_screen
from headcats.reports.page.markup import document
from headcats.reports.page.material import Material
from headcats.reports.page.parts import Tab, target_of
from headcats.reports.page.sections import evidence, heads
from headcats.reports.page.sections import run as what_was_run
from headcats.reports.page.several.writing import write_several
from headcats.reports.text.suggestions import read_map
from headcats.results.folder import ResultsFolder
from headcats.results.place import Place
from headcats.results.run_results import RunResults
from headcats.results.whole_file import write_whole
from headcats.rules.rule import Rule

TABS = {
    ("tab-heads", "Heads"): (heads.heads,),
    ("tab-sharing", "Sharing"): (heads.shared,),
    ("tab-real", "Is it real?"): (evidence.caution, evidence.evidence, evidence.robustness),
    ("tab-tasks", "Tasks"): (what_was_run.tasks,),
    ("tab-method", "Method and repeat"): (what_was_run.run, heads.methods, evidence.words),
}
"""Address and title -> sections from top to bottom."""


def report(
    results: xr.DataTree | str | os.PathLike[str] | Sequence[Any] | Mapping[str, Any],
    path: str | os.PathLike[str] | None = None,
    *,
    method: str | None = None,
    positions: str | None = None,
    metric: str | None = None,
    effect: str = "total",
    rule: Rule | None = None,
    min_tasks: int | str | None = None,
    sign: str = "helping",
) -> Path:
    """Write what results say as one HTML file that explains itself.

    The page holds what was run and on what, the overlap map, the heads of each category with effect, interval, q and
    tasks, the overlap beside chance, other methods, the evidence of the results folder (or the command that makes it),
    and how to repeat the run. Choosing a head shows its numbers on every task and by every method, and where it looks.
    The file needs no network, no model and no torch, and stays below 6 MB: numbers of single tasks by further methods
    are left out where they would not fit, which the page says.

    Of several runs the page shows the maps side by side, what agrees (Jaccard indices beside chance), which heads move
    and how sure that is, and what the runs differ in. Differences of effects between consecutive runs on the same
    prompts are tested as in `hc.evidence.over_revisions`; a series, or folders of checkpoints such as `step1000/`, has
    the categories over the training, and a series a page of each revision. Heads of different models (by the hash of
    their weights) do not correspond: of these there are the maps. A run that cannot be compared with the first is named
    with the reason.

    Args:
        results: What `hc.run` or `hc.load` returns, or what `hc.load` takes; or a series, or its folder; or several
            results in a list, or in a dictionary that names them. Results in memory have no evidence.
        path: File to write. None writes `report.html` into the results folder, or of results "hf://owner/name" into
            `name/`, or of several runs `report-NAME-NAME.html` into the current directory; what is not the default is
            in its name.
        method: Method of the map, as `name` or `name@positions`; None takes the first exact one that was run, or where
            no task was scored the first joint one that sorts heads, which reads no positions, metric or effect. Of
            several runs, a method that scores tasks.
        positions: Positions, where a method was run at several.
        metric: Metric of the map; None takes the first of the run.
        effect: "total" or "task_specific" effects, as in `hc.score`.
        rule: Rule of membership, as in `hc.categorize`; None is `hc.rules.fdr(alpha=0.05, min_effect=0.05)`, or for a
            joint method the rule of its paper.
        min_tasks: As in `hc.categorize`, of which None is the default.
        sign: "helping" or "suppressing" heads.

    Returns:
        The file that was written. It appears complete or not at all.

    Raises:
        DataError: Something else than results, a series among several, or fewer than two that can be compared.
        OptionError: No path for results in memory, positions that have to be chosen, a rule without its options, an
            option that the method does not read, a joint method that sorts no heads, or the same results twice.
        UnknownNameError: A method or metric that the results do not hold.
        StorageError: A folder that cannot be read or written, or a damaged file in it.

    Example:
        >>> import headcats as hc
        >>> results = hc.load("results/mini-icl")
        >>> hc.report(results, "report.html").name
        'report.html'
    """
    check_rule(rule, by="hc.report")
    reading = MapSpec.parse(
        method=method, positions=positions, metric=metric, effect=effect, rule=rule, min_tasks=min_tasks, sign=sign
    )
    return write_report(read_runs(results, by="hc.report"), path, reading)


def write_report(runs: Runs, path: str | os.PathLike[str] | None, reading: MapSpec) -> Path:
    """`report` of a reading."""
    if runs.alone is None:
        return write_several(runs, path, reading, write_run=write_run)
    return write_run(runs.alone, path, reading)


def write_run(run: RunResults, path: str | os.PathLike[str] | None, reading: MapSpec) -> Path:
    """Write the page; returns its file."""
    result = _read_map(run, reading)
    is_named = result is not None and result.options and reading.is_asked
    target = target_of(path, run.place, result.suffix if result is not None and is_named else "")
    material = Material(run, result, target)
    tabs = [
        Tab(name, title, sections)
        for (name, title), makers in TABS.items()
        if (sections := tuple(section for make in makers if (section := make(material)).parts))
    ]
    page = document(material, tabs, first=first_screen(material))
    with _writing(target, run.place):
        write_whole(target, page.encode("utf-8"))
    return target


def _read_map(run: RunResults, reading: MapSpec) -> MapResult | None:
    """Return the map that is named; else that of scored tasks, or of the first joint method that sorts heads."""
    if run.tasks or reading.label.name:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StatisticsWarning)  # the page shows them
            return read_map(run, reading)
    for label in run.sorting_methods:
        try:
            return joint_map(run, label, reading)
        except DataError:  # a probe at chance, for example: the page says so beside its name
            if label == run.sorting_methods[-1] and reading.is_asked:
                raise
    refuse_unused(reading.options.keys() | reading.named, by="A page without a map")
    return None


def _writing(target: Path, place: Place | None) -> contextlib.AbstractContextManager[None]:
    """Hold the write lock of the results folder, where the page goes there."""
    inside = place is not None and target.resolve().parent == place.folder.resolve()
    return ResultsFolder(target.parent).adding("headcats report") if inside else contextlib.nullcontext()
