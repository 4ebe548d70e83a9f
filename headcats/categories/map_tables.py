"""The tables of a map: scores of a reading, the members of its categories, and what these share."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import xarray as xr

from headcats.base.errors import DataError, StatisticsWarning, TooFewItemsError
from headcats.categories.described import with_descriptors
from headcats.categories.differences import effect_differences
from headcats.categories.equal_tasks import subsampled_overlap
from headcats.categories.map_spec import MapSpec
from headcats.categories.membership import categorize
from headcats.categories.required_tasks import sizes_by_min_tasks
from headcats.categories.shared import overlap
from headcats.results.kept import kept
from headcats.results.run_results import RunResults
from headcats.rules.registered import is_registered
from headcats.rules.rule import Rule
from headcats.scores.draws import without_draws
from headcats.scores.scoring import score

_UNDECIDED = Rule(lambda scores: xr.zeros_like(scores["effect"], dtype=int), name="undecided")
_TABLES = ("scores", "members", "overlap", "equal_tasks", "differences", "sizes")


def read_scores(run: RunResults, reading: MapSpec, *, seed: int = 0, jobs: int = 1) -> xr.Dataset:
    """`hc.score` of a reading, at the level of its rule."""
    reading = reading.resolve(run)
    return score(
        run,
        method=reading.label.method,
        metric=reading.metric,
        positions=reading.label.positions or None,
        effect=reading.effect,
        alpha=reading.rule.options.get("alpha", 0.05),
        seed=seed,
        jobs=jobs,
    )


def judge_scores(scores: xr.Dataset, reading: MapSpec) -> xr.Dataset:
    """`hc.categorize` of a reading."""
    return categorize(scores, rule=reading.rule, min_tasks=reading.min_tasks)


def map_tables(run: RunResults, reading: MapSpec) -> dict[str, xr.Dataset]:
    """`scores`, `members` and `overlap` of a reading, the last with the descriptors of heads where the run has them.

    Where no head can be judged, since the items are too few for the rule, all are undecided, and the attribute
    `not_judged` of the members says why.
    """
    return _described(_judged(run, reading), run)


def _judged(run: RunResults, reading: MapSpec, *, jobs: int = 1) -> dict[str, xr.Dataset]:
    scores = read_scores(run, reading, jobs=jobs)
    try:
        members = judge_scores(scores, reading)
    except TooFewItemsError as error:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StatisticsWarning)  # the first call has given them
            members = judge_scores(scores, replace(reading, rule=_UNDECIDED))
        if "size_expected" in members:
            members["size_expected"] = members["size_expected"] * float("nan")
        members.attrs |= {"rule": repr(reading.rule), "not_judged": str(error)}
    return {"scores": scores, "members": members, "overlap": overlap(members, sign=reading.sign)}


def _described(tables: dict[str, xr.Dataset], run: RunResults) -> dict[str, xr.Dataset]:
    return tables | {"overlap": with_descriptors(tables["overlap"], run.descriptors)}


def with_tests(tables: Mapping[str, xr.Dataset], reading: MapSpec) -> dict[str, xr.Dataset]:
    """Add to the tables of a map what findings on it need: tests over the tasks of its categories.

    `equal_tasks`: what `subsampled_overlap` returns; empty where categories have equal numbers of tasks or `min_tasks`
    is more than the smallest has, and for suppressing heads. `differences`: what `effect_differences` returns.
    `sizes`: what `sizes_by_min_tasks` returns. Where the data do not allow one, it is empty, and its attribute `reason`
    says why.
    """
    scores, rule = tables["scores"], reading.rule
    counts = {int(n) for n in tables["members"]["n_tasks"].values if n}
    needed = 0 if isinstance(reading.min_tasks, str) else reading.min_tasks
    comparable = len(counts) > 1 and needed <= min(counts) and reading.sign == "helping"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)  # of few tasks, which the findings say
        return {
            **tables,
            "equal_tasks": _or_reason(partial(subsampled_overlap, scores, rule=rule, min_tasks=reading.min_tasks))
            if comparable
            else xr.Dataset(),
            "differences": effect_differences(scores),
            "sizes": _or_reason(partial(sizes_by_min_tasks, scores, rule=rule)),
        }


def _or_reason(test: Callable[[], xr.Dataset]) -> xr.Dataset:
    try:
        return test()
    except DataError as error:
        return xr.Dataset(attrs={"reason": str(error)})


def kept_map(run: RunResults, reading: MapSpec, *, jobs: int = 1) -> dict[str, xr.Dataset]:
    """`map_tables` of a reading without draws, and its `with_tests`; kept if the results lie in a folder."""

    def compute() -> dict[str, xr.Dataset]:
        return _without_draws(with_tests(_judged(run, reading, jobs=jobs), reading))

    return _described(kept(run, repr(reading), _TABLES, compute) if is_registered(reading.rule) else compute(), run)


def kept_judged(run: RunResults, reading: MapSpec, *, jobs: int = 1) -> dict[str, xr.Dataset]:
    """`map_tables` of a reading without draws; kept if the results lie in a folder."""

    def compute() -> dict[str, xr.Dataset]:
        return _without_draws(_judged(run, reading, jobs=jobs))

    tables = kept(run, repr(reading), _TABLES[:3], compute) if is_registered(reading.rule) else compute()
    return _described(tables, run)


def kept_scores(run: RunResults, reading: MapSpec) -> xr.Dataset:
    """`read_scores` of a reading without draws; kept if the results lie in a folder."""

    def compute() -> dict[str, xr.Dataset]:
        return _without_draws({"scores": read_scores(run, reading)})

    tables = kept(run, repr(reading), ("scores",), compute) if is_registered(reading.rule) else compute()
    return tables["scores"]


def _without_draws(tables: Mapping[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    return {name: without_draws(table) for name, table in tables.items()}
