"""Heads that categories share, beside those that the same tasks share under other labels."""

import itertools

import numpy as np
import xarray as xr
from jaxtyping import Bool, Int

from headcats.base.errors import OptionError, check_count
from headcats.categories.argument_checks import SCORES, check_is, check_rule
from headcats.categories.judging import ROWS, Grids, Reduction, half_of, judge, judge_draws, stacked_grids, tasks_needed
from headcats.categories.task_tests import TaskTests, numbered_tasks
from headcats.rules.discovery_rate import fdr
from headcats.rules.rule import Rule, negate
from headcats.scores.table import without_draws
from headcats.statistics.labellings import LEAST_LABELLINGS, draw_labellings

_AT_ONCE = 50
"""Labellings judged at a time, which bounds the memory."""


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
    drawn = draw_labellings(
        _numbers(table["category"]), _numbers(sources), n_categories=len(needed), n=relabellings, seed=seed
    )
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


def _numbers(names: xr.DataArray) -> Int[np.ndarray, " task"]:
    """Number of each name, by first appearance."""
    places = {name: place for place, name in enumerate(dict.fromkeys(names.values.tolist()))}
    return np.array([places[name] for name in names.values.tolist()])


def _members(
    tests: TaskTests,
    labels: Int[np.ndarray, "labelling task"],
    table: xr.Dataset,
    *,
    rule: Rule,
    min_tasks: int | str,
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
    needed = [half_of(len(places)) if isinstance(min_tasks, str) else min_tasks for places in rows]
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
