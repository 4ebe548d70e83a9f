"""Categories over the revisions of a model: which heads each has, and which come and go."""

import itertools
import json
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headcats.base.errors import DataError, OptionError, StatisticsWarning
from headcats.categories.argument_checks import check_rule, check_same_heads
from headcats.categories.map_spec import MapSpec
from headcats.categories.run_maps import map_tables, read_scores
from headcats.evidence.comparison.runs import Runs, judge_each, read_runs
from headcats.results.label import Label
from headcats.results.run_results import RunResults
from headcats.rules.rule import Rule
from headcats.scores.blocks import prompt_effects
from headcats.statistics.multiplicity import benjamini_hochberg
from headcats.statistics.paired_differences import paired_differences
from headcats.statistics.task import Estimate, estimate

NOT_RUN = "not run"
_SEED = 0  # of the draws behind the tests of differences
# Variable of the members or the scores -> its name over revisions.
_OF_HEADS = {name: name for name in ("member", "effect", "low", "high", "q_value", "mean_effect")}
_OF_HEADS |= {"these_tasks_low": "mean_low", "these_tasks_high": "mean_high"}
_OF_CATEGORY = ("n_tasks", "min_tasks")
_OF_TASKS = {"effect": "task_effect", "low": "task_low", "high": "task_high", "q_value": "task_q"}
_GRID = ("layer", "head")
_DIMS = ("revision", "category", "layer", "head")
_TESTED = ("difference", "difference_low", "difference_high", "difference_p", "difference_q")
_ATTRIBUTES = ("method", "metric", "positions", "effect", "approximation")


def over_revisions(
    series: xr.DataTree | str | os.PathLike[str] | Sequence[Any],
    *,
    method: str | None = None,
    metric: str | None = None,
    rule: Rule | None = None,
    min_tasks: int | str = "half",
    alpha: float = 0.05,
) -> xr.Dataset:
    """The heads of every category at every revision, those that come and go, and whether their effects differ.

    **A head that comes or goes is a change of the call**, which is no evidence of a difference: it can be just above
    the cut-off and then just below it. So the difference is tested for every head: `difference = mean effect over the
    category's tasks at the revision - the same at the revision before`, over the tasks that both have on the same
    prompts (others are counted), items as the unit, paired (a studentized bootstrap whose draws are pooled, as in
    `hc.score`), tasks fixed. q is Benjamini-Hochberg over heads x categories x revisions.

    A category without a scored task is not judged: NaN, never 0 heads; the next revision is then compared with the last
    one that is judged.

    Args:
        series: A series, as `hc.run_series` and `hc.load` return it, or its folder; or several results of one model
            over its training, such as `["results/step1000", "results/step8000"]`.
        method: Method, as `name` or `name@positions`; None takes the first exact one of the last revision.
        metric: Metric; None takes the first of the run.
        rule: As in `hc.categorize`.
        min_tasks: As in `hc.categorize`.
        alpha: Level of q for `change_found`, in (0, 1).

    Returns:
        `member, effect, low, high, q_value, mean_effect (revision, category, layer, head)` as in `hc.categorize`, with
        `mean_low, mean_high` (95 % interval of the mean on these tasks); `size, undecided (revision, category)`, NaN
        where not judged; `n_tasks, min_tasks, n_skipped (revision, category)`; `task_effect, task_low, task_high,
        task_q (revision, task, layer, head)` as in `hc.score`; `skipped (revision, task)`: why, or "". Of changes,
        `(revision, category, layer, head)`: `change` (1 comes, -1 goes), `difference, difference_low, difference_high,
        difference_p, difference_q` (NaN where p cannot be trusted), `change_found`: the call changes and the difference
        has `difference_q <= alpha` and its sign; `before (revision, category)`: the revision compared with, "" for the
        first; `n_compared, n_other_prompts (revision, category)`: tasks in the test, and left out of it. Coordinates
        `step (revision)`, NaN where a name holds none, and `task_category (task)`. Attributes of the scores, with
        `rule`, `alpha`, `model`, and `not_judged` (JSON: revision -> why).

    Raises:
        DataError: No series, one without a scored task, or revisions that cannot be compared.
        OptionError: `alpha` outside (0, 1), a rule without its options, or positions that have to be chosen.
        UnknownNameError: A method or metric that no revision holds.

    Warns:
        StatisticsWarning: As in `hc.score` and `hc.categorize`, once each, with the revisions.

    Example:
        >>> import headcats as hc
        >>> course = hc.evidence.over_revisions(hc.load("results/mini-checkpoints"))
        >>> course.member.dims, course.step.values[-2:]
        (('revision', 'category', 'layer', 'head'), array([4000., 8000.]))
        >>> course["size"].sel(category="Translation", revision=["step250", "step8000"]).values  # no task, then 3 heads
        array([nan,  3.])

    References:
        Gelman & Stern (2006), Am. Stat. 60, 328-331: a difference between "significant" and "not significant" is none
        by itself; Benjamini & Hochberg (1995), J. R. Stat. Soc. B 57, 289-300.
    """
    check_rule(rule, by="hc.evidence.over_revisions")
    reading = MapSpec.parse(method=method, metric=metric, rule=rule, min_tasks=min_tasks)
    runs = read_runs(series, by="hc.evidence.over_revisions")
    if not runs.is_training:
        came = "results of one model" if runs.alone else f"{' and '.join(runs)}, which are no points of one training"
        raise DataError(
            "hc.evidence.over_revisions takes a series, as hc.run_series and hc.load return it, or the folders of "
            f"several checkpoints of one model; got {came}."
        )
    return judge_training(runs, reading, alpha=alpha)[0]


def judge_training(runs: Runs, reading: MapSpec, *, alpha: float = 0.05) -> tuple[xr.Dataset, MapSpec]:
    """`over_revisions` of a reading, and the reading as it was resolved."""
    if not 0 < alpha < 1:
        raise OptionError(f"alpha must lie between 0 and 1, got {alpha}.")
    reading = _resolved(reading, runs)
    judged, not_judged = _judged(runs, reading)
    if not judged:
        reasons = "".join(f"\n- {name}: {not_judged.get(name, NOT_RUN)}" for name in runs.names)
        raise DataError(f"No revision can be judged:{reasons}")
    return course(judged, runs, reading, not_judged=not_judged, alpha=alpha), replace(reading, model=runs.model)


def course(
    judged: Mapping[str, Mapping[str, xr.Dataset]],
    runs: Runs,
    reading: MapSpec,
    *,
    not_judged: Mapping[str, str] = MappingProxyType({}),
    alpha: float = 0.05,
) -> xr.Dataset:
    """The table of `over_revisions` for runs of the same heads; `judged` is name -> `scores` and `members` of a map."""
    names, first = list(runs.names), next(iter(judged.values()))
    entries = {entry["name"]: entry for run in runs.values() for entry in json.loads(run.attrs["categories"])}
    by_category = _by_category(judged, names=names, categories=list(entries))
    table = xr.merge([by_category, _by_task(judged, runs, names)], join="exact")
    steps = [float(runs.steps.get(name, np.nan)) for name in names]
    table = table.assign_coords(revision=names, step=("revision", steps))
    of_category = table["task_category"] == table["category"]
    table["n_skipped"] = ((table["skipped"] != "") & of_category).sum("task").transpose("revision", "category")
    reasons = dict.fromkeys(names, NOT_RUN) | dict.fromkeys(runs, "") | dict(not_judged)
    table.attrs = {name: first["scores"].attrs[name] for name in _ATTRIBUTES if name in first["scores"].attrs}
    table = table.assign_attrs(
        not_judged=json.dumps({name: reason for name, reason in reasons.items() if reason}, ensure_ascii=False),
        rule=repr(reading.rule),
        categories=json.dumps(list(entries.values()), ensure_ascii=False),
        alpha=alpha,
        model=runs.model,
    )
    return _with_changes(table, runs, label=reading.label, metric=reading.metric, alpha=alpha)


def _resolved(reading: MapSpec, runs: Mapping[str, RunResults]) -> MapSpec:
    """The reading for all revisions: by the last one that holds the method, or any scored task where none is named."""
    scored = [run for run in runs.values() if run.scored]
    if not scored:
        raise DataError("No task is scored at any of these revisions.")
    holding = [run for run in scored if any(reading.label.method == label.method for label in run.scored)]
    resolved = reading.resolve((holding or scored)[-1])
    if not any(resolved.label in run.scored for run in scored):
        read_scores(scored[-1], resolved)  # says which methods there are
    return resolved


def _judged(
    runs: Mapping[str, RunResults], reading: MapSpec
) -> tuple[dict[str, dict[str, xr.Dataset]], dict[str, str]]:
    """Revision -> tables of its map, and revision -> why it has none; warnings once each."""

    def judge(name: str) -> dict[str, xr.Dataset]:
        run = runs[name]
        if reading.label not in run.scored:
            raise DataError(f"not scored by {reading.label}" if run.scored else "every task is skipped")
        tables = map_tables(_with_scored_categories(run), reading)
        if reason := str(tables["members"].attrs.get("not_judged", "")):
            raise DataError(reason)
        return tables

    judged, not_judged, messages = judge_each(runs, judge)
    for message, names in messages.items():
        warnings.warn(f"{message} ({', '.join(names)})", StatisticsWarning, stacklevel=4)
    return judged, not_judged


def _with_scored_categories(run: RunResults) -> RunResults:
    """Drop categories whose tasks are all skipped: `n_skipped` says so, no warning has to."""
    categories = {run.manifest.tasks[task].category for task in run.scored_tasks}
    return run.with_categories([entry for entry in json.loads(run.attrs["categories"]) if entry["name"] in categories])


def _by_category(
    judged: Mapping[str, Mapping[str, xr.Dataset]], *, names: list[str], categories: list[str]
) -> xr.Dataset:
    """Members of all revisions; NaN, or 0 in whole numbers, where a category is not judged."""
    tables, by_revision = [], {name: of_map["members"] for name, of_map in judged.items()}
    check_same_heads(by_revision)
    for members in by_revision.values():
        has_number = members["effect"].notnull()
        undecided = ((members["member"] == 0) & has_number).sum(_GRID)
        sizes = {"size": members["size"], "undecided": undecided}
        table = members[[*_OF_HEADS, *_OF_CATEGORY]].rename(_OF_HEADS)
        table = table.assign({name: values.where(has_number.any(_GRID)) for name, values in sizes.items()})
        blank = {str(name): np.nan if values.dtype.kind == "f" else 0 for name, values in table.items()}
        tables.append(table.reindex(category=categories, fill_value=blank))
    joined = xr.concat(tables, pd.Index(list(judged), name="revision"), join="exact")
    return joined.reindex(revision=names, fill_value=blank)


def _by_task(judged: Mapping[str, Mapping[str, xr.Dataset]], runs: Runs, names: list[str]) -> xr.Dataset:
    """Scores of all revisions, and why tasks have none."""
    tasks = {task: record.category for run in runs.values() for task, record in run.manifest.tasks.items()}
    tables = [of_map["scores"][list(_OF_TASKS)].reset_coords(drop=True).rename(_OF_TASKS) for of_map in judged.values()]
    joined = xr.concat(tables, pd.Index(list(judged), name="revision"), join="outer")
    joined = joined.reindex(revision=names, task=list(tasks))
    skipped = [[_skipped(runs.get(name), task) for task in tasks] for name in names]
    joined["skipped"] = (("revision", "task"), np.array(skipped, dtype=str))
    return joined.assign_coords(task_category=("task", list(tasks.values())))


def _skipped(run: RunResults | None, task: str) -> str:
    """Why a revision has no numbers of a task, or ""."""
    record = None if run is None else run.manifest.tasks.get(task)
    return NOT_RUN if record is None else record.refusal


def _with_changes(
    table: xr.Dataset, runs: Mapping[str, RunResults], *, label: Label, metric: str, alpha: float
) -> xr.Dataset:
    """The table of `over_revisions` with its variables on changes; the runs are those of its revisions."""
    shape = tuple(table.sizes[dim] for dim in _DIMS)
    change, tested = np.zeros(shape, dtype=np.int8), {name: np.full(shape, np.nan) for name in _TESTED}
    before = np.full(shape[:2], "", dtype=object)
    counts = {name: np.zeros(shape[:2], dtype=np.int64) for name in ("n_compared", "n_other_prompts")}
    estimates: dict[tuple[str, str], Estimate] = {}

    def estimated(task: str, revision: str) -> Estimate:
        if (task, revision) not in estimates:
            prompts, _ = prompt_effects(runs[revision].block(task, str(label)), task=task, metric=metric)
            estimates[task, revision] = estimate(prompts, task=task, seed=_SEED)
        return estimates[task, revision]

    pairs: dict[str, list[tuple[Estimate, Estimate]]] = {}
    places: dict[str, tuple[int, int]] = {}
    for category, revision, previous in _pairs(table):
        place = table.get_index("revision").get_loc(revision), table.get_index("category").get_loc(category)
        member = [table["member"].sel(revision=name, category=category).values == 1 for name in (previous, revision)]
        change[place] = member[1].astype(int) - member[0]
        before[place] = previous
        both = _tasks_of_both(table, category, revision, previous)
        same = [task for task in both if _same_prompts(task, runs[previous], runs[revision], label)]
        counts["n_compared"][place], counts["n_other_prompts"][place] = len(same), len(both) - len(same)
        if same:
            name = f"{category} {revision}"
            places[name] = place
            pairs[name] = [(estimated(task, previous), estimated(task, revision)) for task in same]
    grid = shape[2:]
    doubts = np.zeros(shape, dtype=bool)
    for name, of_pair in (paired_differences(pairs, seed=_SEED) if pairs else {}).items():
        for variable, values in zip(_TESTED, of_pair, strict=False):
            tested[variable][places[name]] = values.reshape(grid)
        doubts[places[name]] = of_pair.doubtful.reshape(grid)
    tested["difference_q"] = np.where(doubts, np.nan, benjamini_hochberg(tested["difference_p"]))
    found = (tested["difference_q"] <= alpha) & (np.sign(tested["difference"]) == change) & (change != 0)
    return table.assign(
        {name: (_DIMS, values) for name, values in (tested | {"change": change, "change_found": found}).items()}
        | {name: (_DIMS[:2], values) for name, values in (counts | {"before": before.astype(str)}).items()}
    )


def _pairs(table: xr.Dataset) -> Iterator[tuple[str, str, str]]:
    """Category, each judged revision of it, and the last judged one before."""
    judged = table["effect"].notnull().any(("layer", "head"))
    for category in table["category"].values.tolist():
        names = table["revision"].values[judged.sel(category=category).values].tolist()
        for previous, revision in itertools.pairwise(names):
            yield category, revision, previous


def _tasks_of_both(table: xr.Dataset, category: str, *revisions: str) -> list[str]:
    """Tasks of a category with numbers at all of these revisions."""
    of_category = table["task"].values[(table["task_category"] == category).values]
    effects = table["task_effect"].sel(task=of_category, revision=list(revisions))
    has_numbers = effects.notnull().any(("layer", "head")).all("revision")
    return [str(task) for task in of_category[has_numbers.values]]


def _same_prompts(task: str, first: RunResults, second: RunResults, label: Label) -> bool:
    hashes = [run.manifest.tasks[task].prompt_hash for run in (first, second)]
    if hashes[0] is None or hashes[0] != hashes[1]:
        return False
    # A method may have left some of them out.
    keys = [run.block(task, str(label))["key"].values.tolist() for run in (first, second)]
    return bool(keys[0] == keys[1])
