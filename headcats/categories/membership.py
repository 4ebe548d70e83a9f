"""Tasks to categories.

A head belongs to a category when it matters for at least `min_tasks` of the category's tasks: the partial-conjunction
hypothesis. Helping and suppressing heads are judged apart and never merged.
"""

import json
import math
import warnings

import numpy as np
import xarray as xr

from headcats import statistics
from headcats.categories.argument_checks import SCORES, check_is, check_rule
from headcats.categories.draws import resampled_members, sizes_without_effect
from headcats.categories.reduction import Reduction
from headcats.errors import DataError, OptionError, StatisticsWarning
from headcats.rules import Rule, fdr, negate


def categorize(scores: xr.Dataset, *, rule: Rule | None = None, min_tasks: int | str = "half") -> xr.Dataset:
    """Which heads serve which category: outcomes of `rule` after reducing each category's tasks.

    For r = `min_tasks` of a category's n tasks: effect, low and high are their r-th largest over tasks;
    `p = (n - r + 1) * r-th smallest one-sided p`, capped at 1, tests "fewer than r tasks are helped". The rule
    (Benjamini-Hochberg, for `fdr`) then runs over heads x categories. One-sided p = p/2 where the effect has the
    direction asked about, else 1 - p/2. Suppressing heads: the same on negated scores.

    Tasks without any number (a gap not clearly above 0) do not count towards n, nor do tasks without a number of what
    the rule reads besides (null effects, for `null_calibrated`). A category left without a task, never scored, or with
    fewer tasks than `min_tasks` stays in the result with nothing in it: every head undecided and NaN, `n_tasks` as many
    as there are. A head without a number in one of the counted tasks is taken at its worst there (effect and low minus
    infinity, p 1) to be `in`, and is never `out`.

    Args:
        scores: What `hc.score` returns. The attribute `categories` names the categories of the result, in order.
        rule: A rule of `hc.rules`; `fdr(alpha=0.05, min_effect=0.05)` if none is given.
        min_tasks: In how many tasks of the category; `"half"` = ceil(n / 2).

    Returns:
        Dims `category, layer, head`. `member` and `suppressing`: int8, 1 in, 0 undecided, -1 out.
        `effect, low, high, p_value, q_value` after the reduction; of scores that have them also `specific_effect,
        specific_low, specific_high`, reduced over the same tasks (not judged; NaN where fewer than r have them);
        `tasks`: comma-separated tasks in which the head is `in` on its own, q over heads x tasks. All of these with the
        prefix `suppressing_`, effects keeping their sign (suppressing = negative). Per category: `n_tasks, min_tasks,
        n_items, smallest_p` (one-sided, after the reduction); `size` and `suppressing_size`: heads that are in, and
        beside them `size_expected`: how many the same rule finds on average in either direction if no head has any
        effect (NaN for rules that read more than effects, intervals and p: nothing is drawn for it). `probability` (and
        `suppressing_probability`): share of the bootstrap resamples of items in which the head reaches the cut-offs of
        the whole data (`resampled_member (resample, category, layer, head)`, `resampled_suppressing`); both of these
        where the scores carry their draws, and NaN where the draws are NaN (a single query item). Attributes of
        `scores`, with `rule` and `smallest_p` replaced.

    Raises:
        OptionError: `min_tasks` neither a positive whole number nor "half"; a rule without its options, or its name.
        DataError: something else than scores, no category with numbers, none with `min_tasks` tasks, or what the rule
            raises.

    Warns:
        StatisticsWarning: `min_tasks=1` on categories of several tasks; tasks and categories without numbers, or
            without those the rule reads; categories that rest on a single task or have fewer than `min_tasks`.

    Example:
        >>> import headcats as hc
        >>> scores = hc.score(hc.load("results/mini-icl"), method="denoising_patch", metric="logit_diff")
        >>> members = hc.categorize(scores)
        >>> dict(members.member.sizes)
        {'category': 4, 'layer': 6, 'head': 8}
        >>> members["size"].dims, bool((members["size"] == (members.member == 1).sum(("layer", "head"))).all())
        (('category',), True)
        >>> strict = hc.categorize(scores, rule=hc.rules.fdr(alpha=0.05, min_effect=0.2), min_tasks=2)
        >>> bool((strict["size"] <= members["size"]).all())
        True

    References:
        Benjamini & Heller (2008), Biometrics 64, 1215-1222.
    """
    check_is(scores, SCORES, by="hc.categorize")
    check_rule(rule, by="hc.categorize")
    if min_tasks != "half" and (isinstance(min_tasks, bool) or not isinstance(min_tasks, int) or min_tasks < 1):
        raise OptionError(f'min_tasks must be a whole number of at least 1, or "half"; got {min_tasks!r}.')
    rule = fdr() if rule is None else rule
    numbered = numbered_tasks(scores)
    if not any(numbered.values()):
        raise DataError(f"No category has a task with numbers ({', '.join(numbered)}): score tasks with a clear gap.")
    readable = numbered_tasks(scores, rule=rule)
    if not any(readable.values()):
        raise DataError(f"{rule.name} reads {', '.join(rule.reads)}, of which no task has numbers. Use another rule.")
    needed = _needed(readable, min_tasks)
    counted = {category: readable[category] for category in needed}
    _warn_of_missing(scores, numbered, readable, rule)
    _warn_of_thin_evidence(readable, needed, min_tasks)
    helping = _judged(scores, counted, needed, rule=rule)
    # Without effects both directions are the same: they are drawn once.
    suppressing = _judged(negate(scores).drop_vars("flipped", errors="ignore"), counted, needed, rule=rule)

    members = helping.rename(outcome="member")
    members["suppressing"] = suppressing["outcome"]
    members["size"] = (members["member"] == 1).sum(("layer", "head"))
    members["suppressing_size"] = (members["suppressing"] == 1).sum(("layer", "head"))
    if "resampled_member" in helping:
        members["suppressing_probability"] = suppressing["probability"]
        members["resampled_suppressing"] = suppressing["resampled_member"]
    mirrored = {"effect": "effect", "low": "high", "high": "low", "specific_effect": "specific_effect"}
    mirrored |= {"specific_low": "specific_high", "specific_high": "specific_low"}
    for name, other in mirrored.items():
        if name in suppressing:
            members[f"suppressing_{name}"] = -suppressing[other]
    for name in ("p_value", "q_value", "tasks"):
        members[f"suppressing_{name}"] = suppressing[name]
    # In the rows of categories without numbers: 0 (undecided) for whole numbers, "" for text, NaN for the rest.
    blank = {name: values.dtype.type() for name, values in members.items() if values.dtype.kind != "f"}
    members = members.reindex(category=list(numbered), fill_value=blank)
    members["n_tasks"] = ("category", [len(tasks) for tasks in readable.values()])
    asked = {category: needed.get(category, min_tasks) if tasks else 0 for category, tasks in readable.items()}
    members["min_tasks"] = ("category", list(asked.values()))
    members.attrs = scores.attrs | {"rule": repr(rule), "smallest_p": float(members["smallest_p"].max())}
    return members


def numbered_tasks(scores: xr.Dataset, *, rule: Rule | None = None) -> dict[str, list[str]]:
    """Category -> its tasks that have any number, in the order of the scores; categories in the order of figures.

    With a rule, tasks that have any number of everything it reads. Variables that the scores lack altogether are left
    to the rule, which knows why.
    """
    numbered = scores["effect"].notnull().any(("layer", "head"))
    for name in rule.reads if rule is not None else ():
        if name in scores:
            numbered = numbered & scores[name].notnull().any(("layer", "head"))
    tasks = {}
    for entry in json.loads(scores.attrs["categories"]):
        own = (scores["category"] == entry["name"]) & numbered
        tasks[entry["name"]] = [str(task) for task in scores["task"].values[own.values]]
    return tasks


def _needed(tasks: dict[str, list[str]], min_tasks: int | str) -> dict[str, int]:
    # Of the categories that have enough tasks.
    needed = {
        category: _half(own) if isinstance(min_tasks, str) else min_tasks for category, own in tasks.items() if own
    }
    enough = {category: r for category, r in needed.items() if r <= len(tasks[category])}
    if not enough:
        have = ", ".join(f"{category}: {len(own)}" for category, own in tasks.items())
        raise DataError(
            f"min_tasks={min_tasks!r} needs at least {min_tasks} tasks with numbers, and no category has as many "
            f"({have}). Lower min_tasks or score more tasks."
        )
    return enough


def _half(tasks: list[str]) -> int:
    return math.ceil(len(tasks) / 2)


def _warn_of_missing(
    scores: xr.Dataset, numbered: dict[str, list[str]], readable: dict[str, list[str]], rule: Rule
) -> None:
    known, counted = ({task for own in tasks.values() for task in own} for tasks in (numbered, readable))
    for named, problem in (
        (
            [str(task) for task in scores["task"].values if task not in known],
            "Tasks without numbers do not count towards their category",
        ),
        (
            [str(task) for task in scores["task"].values if task in known - counted],
            f"{rule.name} reads {' and '.join(rule.reads)}: tasks without it do not count towards their category",
        ),
        (
            [category for category, own in readable.items() if not own],
            "Categories without any task with numbers stay empty, nothing is known of their heads",
        ),
    ):
        if named:
            warnings.warn(f"{problem}: {', '.join(named)}.", StatisticsWarning, stacklevel=3)


def _warn_of_thin_evidence(tasks: dict[str, list[str]], needed: dict[str, int], min_tasks: int | str) -> None:
    several = [f"{category} ({len(own)} tasks)" for category, own in tasks.items() if len(own) > 1]
    for named, problem in (
        (
            [f"{category} ({len(own)})" for category, own in tasks.items() if own and category not in needed],
            f"Categories with fewer tasks than min_tasks={min_tasks} stay undecided",
        ),
        (
            [f"{category} ({own[0]})" for category, own in tasks.items() if len(own) == 1 and category in needed],
            "Categories that rest on a single task cannot be told apart from that task",
        ),
        (
            several if min_tasks == 1 else [],
            "min_tasks=1 makes a head a member through any single task: an OR over many tasks saturates",
        ),
    ):
        if named:
            warnings.warn(f"{problem}: {', '.join(named)}.", StatisticsWarning, stacklevel=3)


def _judged(scores: xr.Dataset, tasks: dict[str, list[str]], needed: dict[str, int], *, rule: Rule) -> xr.Dataset:
    dims = ("category", "layer", "head")
    scores = scores.transpose(..., "task", "layer", "head")
    index = scores.get_index("task")
    rows = {category: index.get_indexer(own) for category, own in tasks.items()}
    reductions = [Reduction(scores, rows[category], needed[category]) for category in tasks]
    reduced = [one.of_scores() for one in reductions]
    table = xr.Dataset(
        {name: (dims, np.stack([grids[name] for grids in reduced])) for name in reduced[0]},
        coords={"category": list(tasks), "layer": scores["layer"], "head": scores["head"]},
        attrs={name: scores.attrs[name] for name in ("method", "effect") if name in scores.attrs},
    )
    table["q_value"] = table["p_value"].copy(data=statistics.benjamini_hochberg(table["p_value"].values))
    table["smallest_p"] = ("category", [one.smallest_p() for one in reductions])
    table["n_items"] = ("category", [scores["n_items"].values[at].min() for at in rows.values()])

    outcome = rule(table).values
    if "resampled" in scores:
        resampled, drawable = resampled_members(reductions, rule.cutoffs(table))
        table["resampled_member"] = (("resample", *dims), resampled)
        table["probability"] = (dims, np.where(drawable, resampled.mean(axis=0), np.nan))
    if "flipped" in scores:
        # Flips hold effects alone: what a rule reads besides would stay that of the data.
        expected = np.full(len(tasks), np.nan) if rule.reads else sizes_without_effect(reductions, table, rule)
        table["size_expected"] = ("category", expected)
    incomplete = np.stack([np.isnan(scores["effect"].values[at]).any(axis=0) for at in rows.values()])
    table["outcome"] = (dims, np.where(incomplete & (outcome == -1), 0, outcome).astype(np.int8))
    try:
        alone = rule(scores).values == 1
    except DataError:
        # Single tasks can be too small for a verdict that their category reaches: then none is listed.
        alone = np.zeros(scores["effect"].shape, dtype=bool)
    listed = np.full(outcome.shape, "", dtype=object)
    for row, at in enumerate(rows.values()):
        for task in at:
            listed[row][alone[task]] = [f"{text},{index[task]}".lstrip(",") for text in listed[row][alone[task]]]
    table["tasks"] = (dims, listed.astype(str))
    return table
