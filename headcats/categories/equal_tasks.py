"""Compare categories with unequal numbers of tasks by subsampling their tasks."""

import warnings
from collections.abc import Mapping

import numpy as np
import xarray as xr
from jaxtyping import Int, Int8

from headcats.base.errors import DataError, StatisticsWarning, check_count
from headcats.categories.argument_checks import SCORES, check_is, check_rule
from headcats.categories.judging import Judged, judge, tasks_needed
from headcats.categories.shared import count_bounds
from headcats.categories.task_tests import TaskTests, numbered_tasks
from headcats.rules.discovery_rate import fdr
from headcats.rules.rule import Rule
from headcats.scores.table import without_draws
from headcats.statistics.agreement import jaccards
from headcats.statistics.random_streams import stream


def subsampled_overlap(
    scores: xr.Dataset, *, rule: Rule | None = None, min_tasks: int | str = "half", subsets: int = 50, seed: int = 0
) -> xr.Dataset:
    """Sizes and overlap of the categories if each had as many tasks as the smallest.

    A category with more tasks has more chances (`min_tasks=1`) or needs more agreement. Random subsets of each
    category's tasks are categorized like the whole; Benjamini-Hochberg runs over the heads x categories of each subset.

    Args:
        scores: What `hc.score` returns.
        rule: As in `hc.categorize`.
        min_tasks: As in `hc.categorize`; "half" is half of the subset.
        subsets: Number of random subsets.
        seed: Seed of the subsets.

    Returns:
        Means over the subsets, and with `_low` and `_high` their 2.5 and 97.5 % quantiles: `size (category)`, `observed
        (k)` = heads in exactly k categories (undecided counts as out; `observed_least, observed_most`: means of the
        bounds, as in `hc.overlap`), `jaccard (category, other)` (0 if both are empty). `n_tasks`: tasks per category
        and subset. Attributes as `hc.categorize`, with `subsets` and `judged`, the number of subsets that the rule
        could judge.

    Raises:
        OptionError: Fewer than 1 subset; a rule without its options, or its name.
        DataError: No scores; a category with fewer tasks than `min_tasks`; as `hc.categorize`, if no subset can be
            judged.

    Example:
        >>> import headcats as hc
        >>> scores = hc.score(hc.load("results/mini-icl"), method="denoising_patch", metric="logit_diff")
        >>> fewer = scores.isel(task=slice(7))  # Translation has one task, the others have two
        >>> equal = hc.categories.subsampled_overlap(fewer, min_tasks="half", subsets=5)
        >>> int(equal.n_tasks), equal["size"].dims
        (1, ('category',))

    References:
        headcats' own: categories of the suites differ in their numbers of tasks.
    """
    check_is(scores, SCORES, by="hc.categories.subsampled_overlap")
    check_rule(rule, by="hc.categories.subsampled_overlap")
    check_count("subsets", subsets)
    # Draws would be reduced for every subset without being used.
    scores = without_draws(scores)
    tasks = {category: members for category, members in numbered_tasks(scores, rule=rule).items() if members}
    if not tasks:
        raise DataError("No category has a task with numbers: score tasks with a clear gap.")
    least = min(map(len, tasks.values()))
    if isinstance(min_tasks, int) and min_tasks > least:
        raise DataError(f"min_tasks={min_tasks} needs at least as many tasks; the smallest category has {least}.")
    names = list(tasks)
    rule = fdr() if rule is None else rule
    needed = tasks_needed({category: members[:least] for category, members in tasks.items()}, min_tasks)
    tests = TaskTests.from_scores(scores, least=rule.least_effect)
    # Small categories have few different subsets: each is judged once.
    outcomes: dict[tuple[str, ...], Judged | DataError] = {}
    by_subset = []
    for subset in range(subsets):
        draws = stream(seed, "equal tasks", str(subset))
        picks = {name: sorted(draws.choice(members, size=least, replace=False)) for name, members in tasks.items()}
        key = tuple(str(task) for pick in picks.values() for task in pick)
        if key not in outcomes:
            outcomes[key] = _judged(tests, tests.rows_of(picks), needed, rule=rule)
        by_subset.append(outcomes[key])
    judged = [subset for subset in by_subset if not isinstance(subset, DataError)]
    if not judged and isinstance(by_subset[-1], DataError):
        raise by_subset[-1]
    outcome = np.stack([_outcome(subset) for subset in judged])
    member = outcome == 1
    ks = np.arange(1, len(names) + 1)
    count = member.sum(axis=1)
    overlaps = np.nan_to_num(jaccards(member), nan=0.0)
    result = xr.Dataset(coords={"category": names, "other": names, "k": ks})
    for name, dims, values in (
        ("size", ("category",), member.sum(axis=2)),
        ("observed", ("k",), np.stack([(count == k).sum(axis=1) for k in ks], axis=1)),
        ("jaccard", ("category", "other"), overlaps),
    ):
        result[name] = (dims, values.mean(axis=0))
        result[f"{name}_low"] = (dims, np.quantile(values, 0.025, axis=0, method="inverted_cdf"))
        result[f"{name}_high"] = (dims, np.quantile(values, 0.975, axis=0, method="inverted_cdf"))
    for end, bound in zip(("least", "most"), count_bounds(member, outcome == 0), strict=True):
        result[f"observed_{end}"] = ("k", bound.mean(axis=0))
    attrs = {"rule": repr(rule), "smallest_p": float(judged[-1].table["smallest_p"].max())}
    return result.assign(n_tasks=least).assign_attrs(scores.attrs | attrs | {"subsets": subsets, "judged": len(judged)})


def _judged(
    tests: TaskTests, rows: Mapping[str, Int[np.ndarray, " task"]], needed: Mapping[str, int], *, rule: Rule
) -> Judged | DataError:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)  # warned about the whole
        try:
            return judge(tests, rows, needed, rule=rule)
        except DataError as error:
            return error


def _outcome(judged: Judged) -> Int8[np.ndarray, "category head"]:
    """Outcome of each head; those without numbers are out."""
    outcome = np.where(np.isnan(judged.table["effect"].values), -1, judged.outcome).astype(np.int8)
    return outcome.reshape(len(outcome), -1)
