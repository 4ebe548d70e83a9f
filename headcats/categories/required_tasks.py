"""How many heads a category has if they must matter for one of its tasks, for two, ..., for all."""

import warnings

import numpy as np
import xarray as xr

from headcats.base.errors import DataError, StatisticsWarning, TooFewItemsError
from headcats.categories.argument_checks import SCORES, check_is, check_rule
from headcats.categories.membership import categorize
from headcats.categories.numbered_tasks import numbered_tasks
from headcats.rules.rule import Rule
from headcats.scores.draws import without_draws


def sizes_by_min_tasks(scores: xr.Dataset, *, rule: Rule | None = None) -> xr.Dataset:
    """Number of heads of each category for every `min_tasks` = 1..n, from any task to all of them.

    `hc.categorize` at each number; the rule runs over the categories that have so many tasks. Categories with unequal
    numbers of tasks are compared at equal shares of their tasks, not at equal numbers.

    Args:
        scores: What `hc.score` returns.
        rule: As in `hc.categorize`.

    Returns:
        `size, suppressing_size` and `undecided` (helping heads) over `(category, min_tasks)`: heads; NaN where the
        category has fewer tasks, or the query items are too few for the rule to judge any head. Attributes of the
        scores, with `rule`.

    Raises:
        OptionError: A rule without its options, or its name.
        DataError: No scores, no task with numbers, or an error of the rule.

    Example:
        >>> import headcats as hc
        >>> scores = hc.score(hc.load("results/mini-icl"), method="denoising_patch")
        >>> sizes = hc.categories.sizes_by_min_tasks(scores)
        >>> dict(sizes["size"].sizes)
        {'category': 4, 'min_tasks': 2}

    References:
        Benjamini & Heller (2008), Biometrics 64, 1215-1222.
    """
    check_is(scores, SCORES, by="hc.categories.sizes_by_min_tasks")
    check_rule(rule, by="hc.categories.sizes_by_min_tasks")
    most = max(map(len, numbered_tasks(scores, rule=rule).values()))
    if not most:
        raise DataError("No category has a task with numbers: score tasks with a clear gap.")
    # Draws would be reduced for every number without being used.
    scores = without_draws(scores)
    judged = []
    for min_tasks in range(1, most + 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StatisticsWarning)  # of few tasks, which is what is asked about
            try:
                members = categorize(scores, rule=rule, min_tasks=min_tasks)
            except TooFewItemsError as error:
                too_few = error
                continue
        has_number = members["effect"].notnull()
        sizes = members[["size", "suppressing_size"]]
        sizes["undecided"] = ((members["member"] == 0) & has_number).sum(("layer", "head"))
        sizes = sizes.where(has_number.any(("layer", "head")))
        judged.append(sizes.assign_coords(min_tasks=min_tasks))
    if not judged:
        raise too_few
    sizes = xr.concat(judged, "min_tasks").reindex(min_tasks=np.arange(1, most + 1))
    return sizes.transpose("category", "min_tasks").assign_attrs(scores.attrs | {"rule": members.attrs["rule"]})
