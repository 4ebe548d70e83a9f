"""The tables of a map: scores of a reading, the members of its categories, and what these share."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace

import xarray as xr

from headcats.base.errors import StatisticsWarning, TooFewItemsError
from headcats.categories.differences import effect_differences
from headcats.categories.map_spec import MapSpec
from headcats.categories.membership import categorize
from headcats.categories.shared import overlap
from headcats.categories.shared_pairs import sharing
from headcats.results.cached_tables import cached_tables
from headcats.results.descriptors import DESCRIPTORS
from headcats.results.head_axes import HEAD, unit_of
from headcats.results.run_results import RunResults
from headcats.rules.rule import Rule, is_registered
from headcats.scores.scoring import score
from headcats.scores.table import without_draws

_UNDECIDED = Rule(lambda scores: xr.zeros_like(scores["effect"], dtype=int), name="undecided")
_TABLES = ("scores", "members", "overlap", "differences", "sharing")


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
    """`scores`, `members` and `overlap` of a reading, the last with descriptors of heads.

    Where the items are too few for the rule, all heads are undecided, and `not_judged` of the members says why.
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


def with_descriptors(overlap: xr.Dataset, descriptors: xr.Dataset | None) -> xr.Dataset:
    """Add the descriptors of a run; `direct_logit` is the mean over a category's tasks. Groups of heads have none."""
    if descriptors is None or unit_of(overlap) != HEAD:
        return overlap
    of_heads = {name: descriptors[name] for name in DESCRIPTORS if name in descriptors and name != "direct_logit"}
    overlap = overlap.assign(of_heads)
    if "category" not in descriptors.coords or not descriptors.sizes["task"]:
        return overlap
    means = descriptors["direct_logit"].groupby("category").mean(keep_attrs=True)
    return overlap.assign(direct_logit=means.reindex(category=overlap["category"].values))


def with_tests(tables: Mapping[str, xr.Dataset], reading: MapSpec) -> dict[str, xr.Dataset]:
    """Add to the tables of a map its tests over sources, `differences` and `sharing`."""
    rule = _UNDECIDED if "not_judged" in tables["members"].attrs else reading.rule
    shared = sharing(tables["scores"], rule=rule, min_tasks=reading.min_tasks, sign=reading.sign)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)  # of few sources, which the findings say
        return {**tables, "differences": effect_differences(tables["scores"]), "sharing": shared}


def kept_map(run: RunResults, reading: MapSpec, *, jobs: int = 1) -> dict[str, xr.Dataset]:
    """`map_tables` of a reading without draws, and its `with_tests`; kept if the results lie in a folder."""

    def compute() -> dict[str, xr.Dataset]:
        return with_tests(_judged(run, reading, jobs=jobs), reading)

    return _described(_kept(run, reading, _TABLES, compute), run)


def kept_judged(run: RunResults, reading: MapSpec, *, jobs: int = 1) -> dict[str, xr.Dataset]:
    """`map_tables` of a reading without draws; kept if the results lie in a folder."""
    return _described(_kept(run, reading, _TABLES[:3], lambda: _judged(run, reading, jobs=jobs)), run)


def kept_scores(run: RunResults, reading: MapSpec) -> xr.Dataset:
    """`read_scores` of a reading without draws; kept if the results lie in a folder."""
    return _kept(run, reading, ("scores",), lambda: {"scores": read_scores(run, reading)})["scores"]


def _kept(
    run: RunResults, reading: MapSpec, names: tuple[str, ...], compute: Callable[[], dict[str, xr.Dataset]]
) -> dict[str, xr.Dataset]:
    """Tables without draws, from the folder if the rule's name says all that it does."""

    def computed() -> dict[str, xr.Dataset]:
        return {name: without_draws(table) for name, table in compute().items()}

    return cached_tables(run, repr(reading), names, computed) if is_registered(reading.rule) else computed()
