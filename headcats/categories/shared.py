"""Categories that heads share: the set of each head, how alike two are, and what they would share by other labels."""

import itertools

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Bool, Int

from headcats.base.errors import DataError, OptionError, check_count
from headcats.categories.argument_checks import MEMBERS, SCORES, check_is, check_rule
from headcats.categories.judging import (
    ROWS,
    Grids,
    Reduction,
    judge,
    judge_draws,
    needed_of,
    stacked_grids,
    tasks_needed,
)
from headcats.categories.membership import SUPPRESSING
from headcats.categories.task_tests import TaskTests, numbered_tasks
from headcats.rules.discovery_rate import fdr
from headcats.rules.rule import Rule, negate
from headcats.scores.table import without_draws
from headcats.statistics.agreement import jaccards
from headcats.statistics.labellings import LEAST_LABELLINGS, draw_labellings

_AT_ONCE = 50
"""Labellings judged at a time, which bounds the memory."""


def overlap(members: xr.Dataset, *, sign: str = "helping") -> xr.Dataset:
    """Exact set of categories per head, and how many heads are in exactly k categories.

    Counts take undecided heads as out. "In here, undecided there" is no difference:
    `hc.categories.effect_differences` tests one, and `hc.categories.sharing` whether categories share fewer or more
    heads than the same tasks under other labels.

    Args:
        members: What `hc.categorize` returns.
        sign: "helping" or "suppressing" heads. For the latter, `member, effect, low, high, p_value, q_value, tasks,
            size, probability` of the result are those of suppressing heads, effects negative.

    Returns:
        The variables of `members`, and: `undecided (category, layer, head)`; `n_categories` and `set (layer, head)`,
        such as "Knowledge (3 undecided)"; `observed (k)`, heads in exactly k = 1..n categories; `jaccard (category,
        other)`, NaN if both are empty or one has no numbers; if the memberships were resampled, the 95 % percentile
        interval `jaccard_low, jaccard_high` (both empty counts as 0), which adds the noise of the data once more and
        can lie below a large overlap. See docs/schema.md.

    Raises:
        OptionError: Another sign.
        DataError: No memberships, or memberships without heads of this sign.

    Example:
        >>> import headcats as hc
        >>> scores = hc.score(hc.load("results/mini-icl"), method="denoising_patch", metric="logit_diff")
        >>> shared = hc.overlap(hc.categorize(scores))
        >>> shared.n_categories.dims, shared.observed.dims, shared.jaccard.dims
        (('layer', 'head'), ('k',), ('category', 'other'))
        >>> int(shared.observed.sum()) == int((shared.n_categories > 0).sum())
        True

    References:
        Jaccard (1912), New Phytol. 11, 37-50.
    """
    check_is(members, MEMBERS, by="hc.overlap")
    members = of_sign(members, sign)
    order = ("category", "layer", "head")
    outcome = members["member"].transpose(*order).values
    has_number = members["effect"].transpose(*order).notnull().values
    exists, with_numbers = has_number.any(axis=0), np.asarray(has_number.any(axis=(1, 2)))
    names = [str(name) for name in members["category"].values]
    member = outcome == 1
    undecided = (outcome == 0) & with_numbers[:, None, None] & exists
    count = member.sum(axis=0)
    ks = np.arange(1, len(names) + 1)

    result = members.assign_coords(k=ks, other=names)
    result["undecided"] = (order, undecided)
    result["n_categories"] = (order[1:], count.astype(np.int8))
    cells, open_cells = (rows.reshape(len(names), -1) for rows in (member, undecided))
    sets = [_set_text(names, *cell) for cell in zip(cells.T, open_cells.T, strict=True)]
    result["set"] = (order[1:], np.array(sets, dtype=str).reshape(count.shape))
    result["observed"] = ("k", [(count == k).sum() for k in ks])
    pairs = ("category", "other")
    judged = np.outer(with_numbers, with_numbers)
    result["jaccard"] = (pairs, np.where(judged, jaccards(cells), np.nan))
    if "resampled_member" in members:
        resampled = members["resampled_member"].transpose("resample", *order).values
        spread = np.nan_to_num(jaccards(resampled.reshape(len(resampled), len(names), -1)), nan=0.0)
        drawable = members["probability"].notnull().any(order[1:]).values
        unknown = np.isnan(result["jaccard"].values) | ~np.outer(drawable, drawable)
        for name, quantile in (("jaccard_low", 0.025), ("jaccard_high", 0.975)):
            bound = np.quantile(spread, quantile, axis=0, method="inverted_cdf")
            result[name] = (pairs, np.where(unknown, np.nan, bound))
    return result


def _set_text(names: list[str], inside: Bool[np.ndarray, " category"], undecided: Bool[np.ndarray, " category"]) -> str:
    n = int(undecided.sum())
    return " ".join(filter(None, ["+".join(itertools.compress(names, inside)), f"({n} undecided)" if n else ""]))


def of_sign(members: xr.Dataset, sign: str) -> xr.Dataset:
    """Memberships of one sign, under the names of helping heads; an OptionError for another sign."""
    if sign not in ("helping", "suppressing"):
        raise OptionError(f"sign must be 'helping' or 'suppressing', got {sign!r}.")
    if sign == "helping":
        if members.attrs.get("sign") == "suppressing":
            raise DataError("This overlap holds suppressing heads alone; take what hc.categorize returns.")
        return members.assign_attrs(sign=sign)
    if "suppressing" not in members:
        raise DataError("These memberships hold no suppressing heads; take what hc.categorize returns.")
    renamed = {suppressing: name for name, suppressing in SUPPRESSING.items() if suppressing in members}
    return members.drop_vars(list(renamed.values()), errors="ignore").rename(renamed).assign_attrs(sign=sign)


def sharing(
    scores: xr.Dataset,
    *,
    rule: Rule | None = None,
    min_tasks: int | str = "half",
    sign: str = "helping",
    relabellings: int = 200,
    seed: int = 0,
) -> xr.Dataset:
    """Number of heads that categories share, tested against other labels of the same tasks.

    `shared_pairs` is the sum over pairs of categories of the number of heads in both. Labels are exchanged between
    independent sources (the coordinate `independent_source (task)` of the scores; without it every task is one), and
    heads judged anew by the same rule: a source whose tasks have one category moves as a whole, tasks of a source with
    several exchange labels among themselves. Two-sided `p = min(1, 2 x smaller tail)`, a tail being the share of
    labellings, the true one included, with at most or at least as many.

    **Null:** labels mean nothing, so sources are exchangeable. Heads are not exchanged: they may be redundant, or
    unequally easy to detect. Fewer than under other labels: these categories differ in their heads. More: they share
    more than other groups of these tasks. A larger p says nothing of the categories: with half of the tasks of many
    categories asked for, heads of one category are members of none under other labels, so few are shared there, too.

    Args:
        scores: What `hc.score` returns.
        rule: As in `hc.categorize`, like `min_tasks`; "half" is that of the relabelled categories.
        min_tasks: Number of tasks of a category in which a head must matter.
        sign: "helping" or "suppressing" heads.
        relabellings: Other labellings, drawn without repetition.
        seed: Seed of these draws.

    Returns:
        Scalars `shared_pairs`; `relabelled, relabelled_low, relabelled_high`, the mean and the 2.5 and 97.5 % quantiles
        under other labels; `p_value`; `n_labellings`, the true one included. NaN with fewer than 20 labellings.
        Attributes of the scores, with `rule` and `sign`.

    Raises:
        DataError: No scores, or no category with `min_tasks` tasks with numbers; errors of the rule.
        OptionError: An option that is none.

    Example:
        >>> import headcats as hc
        >>> scores = hc.score(hc.load("results/mini-icl"), method="denoising_patch", metric="logit_diff")
        >>> shared = hc.categories.sharing(scores, relabellings=39)
        >>> members = hc.overlap(hc.categorize(scores))
        >>> int(shared.shared_pairs) == int((members.observed * members.k * (members.k - 1) // 2).sum())
        True
        >>> 0 < float(shared.p_value) <= 1
        True

    References:
        Phipson & Smyth (2010), Stat. Appl. Genet. Mol. Biol. 9, 39 (why permutation p values count the observed one).
    """
    check_is(scores, SCORES, by="hc.categories.sharing")
    check_rule(rule, by="hc.categories.sharing")
    check_count("relabellings", relabellings)
    if sign not in ("helping", "suppressing"):
        raise OptionError(f"sign must be 'helping' or 'suppressing', got {sign!r}.")
    rule = fdr() if rule is None else rule
    numbered = numbered_tasks(scores)
    needed = tasks_needed(numbered, min_tasks)
    # By name, so that the draws depend neither on the order of tasks nor on the names of categories.
    tasks = sorted(itertools.chain(*(numbered[category] for category in needed)))
    table = without_draws(scores).sel(task=tasks)
    tests = TaskTests.from_scores(table if sign == "helping" else negate(table), least=rule.least_effect)
    sources = table.get("independent_source", table["task"])
    numbers, units = (pd.factorize(names.values)[0] for names in (table["category"], sources))  # by first appearance
    drawn = draw_labellings(numbers, units, n_categories=len(needed), n=relabellings, seed=seed)
    labels = drawn.labels
    # What a rule reads beside numbers of heads is that of the true categories.
    judged = judge(tests, tests.rows_of({name: numbered[name] for name in needed}), needed, rule=rule).table
    n_batches = -(-len(labels) // _AT_ONCE)
    batches = [
        _members(tests, batch, judged, rule=rule, min_tasks=min_tasks) for batch in np.array_split(labels, n_batches)
    ]
    in_categories = np.concatenate([members.sum(axis=1) for members in batches])
    pairs = (in_categories * (in_categories - 1) // 2).sum(axis=(1, 2))
    values = {"shared_pairs": int(pairs[0]), "n_labellings": len(pairs)}
    return xr.Dataset(values | _against_others(pairs), attrs=scores.attrs | {"rule": repr(rule), "sign": sign})


def _members(
    tests: TaskTests, labels: Int[np.ndarray, "labelling task"], table: xr.Dataset, *, rule: Rule, min_tasks: int | str
) -> Bool[np.ndarray, "labelling category layer head"]:
    """Heads that the rule calls members, under every labelling."""
    grids = [_judged_grids(tests, row, table.sizes["category"], min_tasks=min_tasks) for row in labels]
    draws = {name: (("draw", *ROWS), np.stack([of_row[name] for of_row in grids])) for name in grids[0]}
    return judge_draws(table.assign(draws), rule) == 1


def _judged_grids(
    tests: TaskTests, labels: Int[np.ndarray, " task"], n_categories: int, *, min_tasks: int | str
) -> Grids:
    """Grids of the categories of one labelling in any order; NaN for those that it leaves too few tasks."""
    rows = [np.flatnonzero(labels == category) for category in range(n_categories)]
    needed = [needed_of(len(places), min_tasks) for places in rows]
    reductions = [Reduction(tests, *each) for each in zip(rows, needed, strict=True) if len(each[0]) >= each[1]]
    # One category alone shares nothing, whatever is called there.
    grids = stacked_grids(reductions or [Reduction(tests, rows[0], len(rows[0]))])
    blank = np.full((n_categories - len(grids["effect"]), *grids["effect"].shape[1:]), np.nan)
    return {name: np.concatenate([values, blank]) for name, values in grids.items()}


def _against_others(pairs: Int[np.ndarray, " labelling"]) -> dict[str, float]:
    names = ("relabelled", "relabelled_low", "relabelled_high", "p_value")
    if len(pairs) < LEAST_LABELLINGS:
        return dict.fromkeys(names, np.nan)
    low, high = np.quantile(pairs[1:], (0.025, 0.975), method="inverted_cdf")
    tails = (pairs <= pairs[0]).mean(), (pairs >= pairs[0]).mean()
    return dict(zip(names, (pairs[1:].mean(), float(low), float(high), min(1.0, 2 * min(tails))), strict=True))
