"""Tasks to categories.

A head belongs to a category if it matters for at least `min_tasks` of the category's tasks: the partial-conjunction
hypothesis. Helping and suppressing heads are never merged.
"""

import itertools

import numpy as np
import pandas as pd
import xarray as xr

from headcats.base.errors import DataError
from headcats.categories.argument_checks import MEMBERS, SCORES, check_is, check_rule
from headcats.categories.by_block import checked_selection, is_joint_block, members_of
from headcats.categories.head_columns import HEAD_COLUMNS
from headcats.categories.judging import (
    ROWS,
    joined_names,
    judge,
    resampled_members,
    sizes_without_effect,
    tasks_needed,
    warn_of,
)
from headcats.categories.task_tests import TaskTests, new_task_effects, numbered_tasks
from headcats.results.head_axes import KV_HEAD, cell_name, unit_of
from headcats.rules.discovery_rate import fdr
from headcats.rules.rule import Rule, negate
from headcats.scores.table import without_draws

# Variable of helping heads -> that of the negated scores, which is negative for suppressing heads.
_MIRRORED = {"effect": "effect", "low": "high", "high": "low"}
_MIRRORED |= {"specific_effect": "specific_effect", "specific_low": "specific_high", "specific_high": "specific_low"}
SUPPRESSING = {"member": "suppressing", "resampled_member": "resampled_suppressing"} | {
    name: f"suppressing_{name}"
    for name in (*_MIRRORED, "p_value", "p_below", "q_value", "doubtful", "tasks", "size", "probability")
}
"""Variable of helping heads -> that of suppressing heads."""
SETTLED = 0.8
"""A head that is in its category in a smaller share of the resamples is called unsure."""


def categorize(scores: xr.Dataset, *, rule: Rule | None = None, min_tasks: int | str | None = None) -> xr.Dataset:
    """Heads of every category: outcomes of `rule` after reducing each category's tasks.

    For r = `min_tasks` of a category's n tasks: effect, low and high are their r-th largest over tasks; `p_value` is
    one-sided and tests "above the rule's `min_effect` in fewer than r tasks" (0 for rules without one), `p_below` "in
    at least r tasks", both by partial conjunction (docs/tests_of_heads.md). The rule (Benjamini-Hochberg, for `fdr`)
    then runs over heads x categories. Suppressing heads: the same on negated scores.

    Tasks without numbers (a gap not clearly above 0) do not count towards n. A category without tasks, or with fewer
    than `min_tasks`, stays in the result with all heads undecided and NaN. A head without a number in a counted task
    has the worst value there (effect and low minus infinity, p 1), and is never `out`.

    The block of a joint method (weights, gates, a probe) is sorted as its `Selection` says, and nothing is tested: no
    intervals and no p values, and a rule such as the elbow returns heads even for noise. Relations are the tasks of
    their categories; data sets of gates and functions of a probe are categories themselves, of which the seeds are
    reduced first. `effect` is then the `min_tasks`-th largest number of the category, in the unit of the attribute
    `measure`; a head is undecided where nothing is known: in layers that lack it, in categories without numbers, and
    as suppressing where the method has no opposite.

    Args:
        scores: What `hc.score` returns, or a block of `hc.suite_blocks`. The attribute `categories` names the
            categories of the result, in order.
        rule: A rule of `hc.rules`; default `fdr(alpha=0.05, min_effect=0.05)`. Of a block, one that reads effects
            alone; by default the thresholds that it gives for its tasks, or `Selection.rule`.
        min_tasks: Number of tasks of the category; `"half"`, the default, is half of them rounded up, and both of two:
            one task makes no member where there are others. Of a block, one by default, the papers' rule.

    Returns:
        `member` and `suppressing (category, layer, head)`: int8, 1 in, 0 undecided, -1 out. `effect, low, high,
        p_value, p_below, q_value` after the reduction, `doubtful` (its p reaches the rule's cut-off only thanks to
        tasks in which `hc.score` calls the head doubtful), `tasks` in which the head is `in` on its own, `probability`
        (share of bootstrap resamples in which it reaches the cut-offs of the whole data); all of these for suppressing
        heads with the prefix `suppressing_`, effects keeping their sign. `size, suppressing_size,
        size_expected, n_tasks, min_tasks, n_items, smallest_p (category)`. See docs/schema.md. `size_expected`, the
        number called if no effect is above the one tested, and `probability` are NaN for a single query item.
        Attributes of `scores`, with `rule` and `smallest_p` replaced.

    Raises:
        OptionError: `min_tasks` neither a positive integer nor "half"; a rule without its options, or its name; of a
            block, a rule that reads more than effects, or `min_tasks` that no category has.
        DataError: No scores, no category with numbers or with `min_tasks` tasks, or an error of the rule; a block that
            sorts no heads, or whose numbers mean nothing (the attribute `verdict` of a probe at chance).

    Warns:
        StatisticsWarning: `min_tasks=1` on categories of several tasks; tasks and categories without numbers;
            categories of a single task, or of fewer than `min_tasks`.

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
        >>> import numpy as np
        >>> import xarray as xr
        >>> always = hc.methods.Selection("gate", "seed", "dataset", reduce="min", rule="threshold:value=0.5")
        >>> declared = hc.methods.Declaration(name="gates", kind="joint", selection=always)
        >>> gate = np.array([[[[0.9, 0.1]], [[0.8, 0.7]]]])  # a data set, two seeds, a layer of two heads
        >>> axes = ("dataset", "seed", "layer", "head")
        >>> block = xr.Dataset({"gate": (axes, gate)}, {"dataset": ["Math"]}, {"declaration": declared.as_text()})
        >>> hc.categorize(block).member.sel(category="Math").values  # the second is open from one start only
        array([[ 1, -1]], dtype=int8)

    References:
        Benjamini & Heller (2008), Biometrics 64, 1215-1222, for partial conjunction; Elhelo & Geva (2025), MAPS, arXiv
        2412.11965, Nam et al. (2025), Causal Head Gating, arXiv 2505.13737, and Ma et al. (2025), Cognitive Mirrors,
        arXiv 2512.10978, for blocks.
    """
    check_rule(rule, by="hc.categorize")
    if is_joint_block(scores):
        return members_of(scores, checked_selection(scores), rule=rule, min_tasks=min_tasks)
    check_is(scores, SCORES, by="hc.categorize")
    min_tasks = "half" if min_tasks is None else min_tasks
    rule = fdr() if rule is None else rule
    numbered = numbered_tasks(scores)
    if not any(numbered.values()):
        raise DataError(f"No category has a task with numbers ({', '.join(numbered)}): score tasks with a clear gap.")
    needed = tasks_needed(numbered, min_tasks)
    counted = {category: numbered[category] for category in needed}
    warn_of(_missing(scores, numbered) | _thin_evidence(numbered, needed, min_tasks))
    helping = _reduced_and_ruled(scores, counted, needed, rule=rule)
    turned = negate(scores.drop_vars("null_effect_t", errors="ignore"))
    suppressing = _reduced_and_ruled(turned, counted, needed, rule=rule)

    negative = {name: -suppressing[negated] for name, negated in _MIRRORED.items() if name in suppressing}
    suppressing = suppressing.assign(negative)
    members = helping.assign({name: suppressing[of] for of, name in SUPPRESSING.items() if of in suppressing})
    # Categories without numbers: 0 (undecided) for integers, "" for text, else NaN.
    blank = {name: values.dtype.type() for name, values in members.items() if values.dtype.kind != "f"}
    members = members.reindex(category=list(numbered), fill_value=blank)
    # The end of an interval that a single item leaves open is no number.
    floats = {name: values for name, values in members.items() if values.dtype.kind == "f"}
    members = members.assign({name: values.where(np.isfinite(values)) for name, values in floats.items()})
    members["n_tasks"] = ("category", [len(tasks) for tasks in numbered.values()])
    required = [needed.get(category, min_tasks) if tasks else 0 for category, tasks in numbered.items()]
    members["min_tasks"] = ("category", required)
    counted_tasks = list(itertools.chain(*numbered.values()))
    members = members.assign(new_task_effects(without_draws(scores).sel(task=counted_tasks)).data_vars)
    members.attrs = scores.attrs | {"rule": repr(rule), "smallest_p": float(members["smallest_p"].max())}
    return members


def head_table(overlap: xr.Dataset) -> pd.DataFrame:
    """The head list: one row per head and category it is in, helping and suppressing apart.

    Args:
        overlap: What `hc.categorize` or `hc.overlap` returns; an overlap of suppressing heads lists these alone. With
            `overlap.assign(hc.describe_heads(model))`, the table says what every head does.

    Returns:
        Columns `head` ("L9H6"; a group "L9G1"), `category`, `kind` ("helping" or "suppressing"), where heads share keys
        and values `kv_head` (the number of theirs in the layer), `effect, low, high` in shares of the gap (suppressing
        = negative), `q`, `tasks`; if available, its mean over tasks and on a new one, `specific` (the task-specific
        effect), `probability` (share of resamples in which the head is in), `doubtful` (its p needs tasks in which the
        head is doubtful), the descriptors of the head (see `hc.describe_heads`) and `approximation`. Ordered by
        category, kind and size of effect.

    Raises:
        DataError: Neither memberships nor an overlap.

    Example:
        >>> import headcats as hc
        >>> scores = hc.score(hc.load("results/mini-icl"), method="denoising_patch", metric="logit_diff")
        >>> table = hc.categories.head_table(hc.categorize(scores))
        >>> list(table.columns[:6])
        ['head', 'category', 'kind', 'effect', 'low', 'high']
        >>> strongest = table[table.kind == "helping"].iloc[0]
        >>> bool(0 < strongest.low <= strongest.effect <= strongest.high)
        True
    """
    check_is(overlap, MEMBERS, by="hc.categories.head_table")
    kinds = [("helping", "member", ""), ("suppressing", "suppressing", "suppressing_")]
    if overlap.attrs.get("sign") == "suppressing":
        kinds = [("suppressing", "member", "")]
    columns = {
        name: column
        for name, column in HEAD_COLUMNS.items()
        if column.variable in overlap and set(overlap[column.variable].dims) <= set(ROWS)
    }
    unit, shared = unit_of(overlap), [KV_HEAD] if KV_HEAD in overlap.coords else []
    rows = []
    for category in overlap["category"].values.tolist():
        table = overlap.sel(category=category).transpose(..., "layer", "head")
        for kind, outcome, prefix in kinds:
            cells = [table.isel(layer=i, head=j) for i, j in zip(*np.nonzero(table[outcome].values == 1), strict=True)]
            entries = [
                {"head": cell_name(cell["layer"].item(), cell["head"].item(), unit), "category": category, "kind": kind}
                | {name: cell[name].item() for name in shared}
                | {name: cell[prefix * of.by_sign + of.variable].item() for name, of in columns.items()}
                for cell in cells
            ]
            rows += sorted(entries, key=lambda row: -abs(row["effect"]))
    frame = pd.DataFrame(rows, columns=["head", "category", "kind", *shared, *columns])
    approximation = overlap.attrs.get("approximation")
    return frame.assign(approximation=approximation) if approximation else frame


def _missing(scores: xr.Dataset, tasks: dict[str, list[str]]) -> dict[str, list[str]]:
    counted = set(itertools.chain(*tasks.values()))
    return {
        "Tasks without numbers do not count towards their category": [
            task for task in scores["task"].values.tolist() if task not in counted
        ],
        "Categories without a task with numbers stay empty": [name for name in tasks if not tasks[name]],
    }


def _thin_evidence(tasks: dict[str, list[str]], needed: dict[str, int], min_tasks: int | str) -> dict[str, list[str]]:
    counts = {category: len(members) for category, members in tasks.items()}
    return {
        f"Categories with fewer tasks than min_tasks={min_tasks} stay undecided": [
            f"{category} ({n})" for category, n in counts.items() if n and category not in needed
        ],
        "Categories of a single task cannot be distinguished from that task": [
            f"{category} ({tasks[category][0]})" for category in needed if counts[category] == 1
        ],
        "min_tasks=1 makes a head a member through any single task: an OR over many tasks saturates": [
            f"{category} ({n} tasks)" for category, n in counts.items() if n > 1 and min_tasks == 1
        ],
    }


def _reduced_and_ruled(
    scores: xr.Dataset, tasks: dict[str, list[str]], needed: dict[str, int], *, rule: Rule
) -> xr.Dataset:
    tests = TaskTests.from_scores(scores, least=rule.least_effect)
    rows = tests.rows_of(tasks)
    judged = judge(tests, rows, needed, rule=rule)
    table, cutoffs = judged.table, rule.cutoffs(judged.table)
    trusted_p = np.stack([reduction.trusted_p() for reduction in judged.reductions])
    needs_doubtful = (judged.outcome == 1) & (trusted_p > cutoffs.p_value[:, None, None])
    variables: dict[str, tuple] = {
        "member": (ROWS, judged.outcome),
        "size": ("category", (judged.outcome == 1).sum(axis=(1, 2))),
        "doubtful": (ROWS, needs_doubtful),
    }
    if "resampled" in scores:
        resampled, drawable = resampled_members(judged.reductions, cutoffs)
        variables["resampled_member"] = (("resample", *ROWS), resampled)
        variables["probability"] = (ROWS, np.where(drawable, resampled.mean(axis=0), np.nan))
    if "null_effect_t" in scores:
        variables["size_expected"] = ("category", sizes_without_effect(judged.reductions, table, rule))
    try:
        alone = rule(tests.scores).values == 1
    except DataError:
        # Single tasks can be too small for the rule when their category is not: then none is listed.
        alone = np.zeros(tests.p_above.shape, dtype=bool)
    names = tests.scores["task"].values
    variables["tasks"] = (ROWS, np.stack([joined_names(alone[places], names[places]) for places in rows.values()]))
    return table.assign(variables)
