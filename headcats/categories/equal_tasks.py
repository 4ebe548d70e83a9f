"""Categories of unequal numbers of tasks, made comparable: as many tasks of each."""

import warnings

import numpy as np
import xarray as xr
from jaxtyping import Bool

from headcats.categories.argument_checks import SCORES, check_is, check_rule
from headcats.categories.membership import categorize, numbered_tasks
from headcats.categories.shared import jaccards
from headcats.errors import DataError, OptionError, StatisticsWarning
from headcats.random_streams import stream
from headcats.rules import Rule


def subsampled_overlap(
    scores: xr.Dataset,
    *,
    rule: Rule | None = None,
    min_tasks: int | str = "half",
    subsets: int = 50,
    seed: int = 0,
) -> xr.Dataset:
    """Sizes and overlap of the categories when each is left with as many tasks as the smallest has.

    A category with more tasks has more chances (`min_tasks=1`) or needs more agreement. Random subsets of the tasks of
    each category are categorized as the whole was; Benjamini-Hochberg runs over the heads x categories of each subset.

    Args:
        scores: What `hc.score` returns.
        rule: As in `hc.categorize`.
        min_tasks: As in `hc.categorize`; "half" is half of the subset.
        subsets: How many random subsets.
        seed: Seed of the subsets.

    Returns:
        `n_tasks` (of each category in every subset); means over the subsets, and with `_low` and `_high` their 2.5 and
        97.5 % quantiles (values of single subsets, none in between): `size (category)`, `observed (k)` = heads in
        exactly k categories, `jaccard (category, other)` (0 where both are empty). Attributes as `hc.categorize`, with
        `subsets` and `judged`: how many of them the rule could judge (their tasks may have too few query items); the
        rest are left out of all these.

    Raises:
        OptionError: Fewer than 1 subset; a rule without its options, or its name.
        DataError: Something else than scores; as `hc.categorize`, if no subset can be judged; a category of fewer tasks
            than `min_tasks`.

    Example:
        >>> import headcats as hc
        >>> scores = hc.score(hc.load("results/mini-icl"), method="denoising_patch", metric="logit_diff")
        >>> fewer = scores.isel(task=slice(7))  # Translation has one task, the others have two
        >>> equal = hc.subsampled_overlap(fewer, min_tasks="half", subsets=5)
        >>> int(equal.n_tasks), equal["size"].dims
        (1, ('category',))

    References:
        headcats' own: categories of the suites differ in their numbers of tasks.
    """
    check_is(scores, SCORES, by="hc.subsampled_overlap")
    check_rule(rule, by="hc.subsampled_overlap")
    if subsets < 1:
        raise OptionError(f"subsets must be at least 1, got {subsets}.")
    # Their draws would be reduced for every subset and are not used.
    scores = scores.drop_vars(["resampled", "flipped"], errors="ignore")
    tasks = {category: own for category, own in numbered_tasks(scores, rule=rule).items() if own}
    if not tasks:
        raise DataError("No category has a task with numbers: score tasks with a clear gap.")
    least = min(map(len, tasks.values()))
    if isinstance(min_tasks, int) and min_tasks > least:
        raise DataError(f"min_tasks={min_tasks} needs at least as many tasks; the smallest category has {least}.")
    names = list(tasks)
    found: list[np.ndarray] = []
    attributes: dict = {}
    refusal = DataError("")
    # Small categories have few different subsets: each is judged once, however often it is drawn.
    judged: dict[tuple[str, ...], tuple[np.ndarray, dict] | DataError] = {}
    for subset in range(subsets):
        draws = stream(seed, "equal tasks", str(subset))
        drawn = [str(task) for own in tasks.values() for task in draws.choice(own, size=least, replace=False)]
        chosen = tuple(sorted(drawn))
        if chosen not in judged:
            judged[chosen] = _judged(scores.sel(task=list(chosen)), names, rule=rule, min_tasks=min_tasks)
        outcome = judged[chosen]
        if isinstance(outcome, DataError):
            refusal = outcome
        else:
            found.append(outcome[0])
            attributes = outcome[1]
    if not found:
        raise refusal
    member = np.stack(found)
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
    return result.assign(n_tasks=least).assign_attrs(attributes | {"subsets": subsets, "judged": len(found)})


def _judged(
    scores: xr.Dataset, names: list[str], *, rule: Rule | None, min_tasks: int | str
) -> tuple[Bool[np.ndarray, "category cell"], dict] | DataError:
    """Which cells of which category are in, and the attributes of `hc.categorize`; or why it cannot be judged."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)  # said of the whole
        try:
            members = categorize(scores, rule=rule, min_tasks=min_tasks)
        except DataError as error:
            return error
    outcome = members["member"].sel(category=names).transpose("category", ...).values == 1
    return outcome.reshape(len(names), -1), members.attrs
