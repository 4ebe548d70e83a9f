"""Categories of heads from the relations that their weights implement."""

import numbers

import xarray as xr

from headcats.categories.by_block import checked_selection, members_of
from headcats.errors import DataError, OptionError
from headcats.results.run_results import refuse_results
from headcats.rules.by_effect import threshold as at_least

CALIBRATED = "calibrated"
_NEEDED = ("score", "suppression", "threshold", "suppression_threshold", "n")


def relation_members(relations: xr.Dataset, *, threshold: str | float | int = CALIBRATED) -> xr.Dataset:
    """Categories of heads by their weights: a head is in a category if it implements at least one of its relations.

    A head implements a relation if its score reaches the threshold; it suppresses one if its suppression does. "At
    least one" is the paper's rule; with many relations in a category it saturates. Nothing is sampled (all pairs of a
    relation count), so there are no intervals and no p values.

    Args:
        relations: What `ov_relation` returned, with categories: of a study, or called with `categories=...`.
        threshold: "calibrated": the larger of the preset's threshold (.15) and the 99.9th percentile of the
            permuted-target null, per relation. Or a number in (0, 1] for all; 0.15 is the paper's.

    Returns:
        Memberships as from `hc.categorize`, for `hc.overlap`, `hc.categories.head_table` and the figures: `member` and
        `suppressing (category, layer, head)`, 1 in, -1 out, 0 where a category has no relation or a layer no such head;
        `effect`: largest score over the relations (not a share of a gap), `suppressing_effect`: largest suppression,
        negative; `tasks` and `suppressing_tasks`: relations that reach the threshold; `low, high, p_value, q_value`
        NaN; per category `n_tasks, min_tasks` (1), `n_items` (pairs of its smallest relation), `size,
        suppressing_size`. Attribute `rule`.

    Raises:
        DataError: Data of another kind, or relations without categories.
        OptionError: A threshold that is neither "calibrated" nor a number in (0, 1].

    Warns:
        StatisticsWarning: Categories with several relations, or with none.

    Example:
        >>> import headcats as hc
        >>> kinds = {"country_capital": "Knowledge", "plural": "Linguistic"}
        >>> pairs = {task.name: task.pairs(60, seed=0) for task in hc.suite("icl").named(list(kinds))}
        >>> relations = hc.methods.ov_relation(hc.load_model("mini"), pairs, categories=kinds)
        >>> members = hc.papers.ov_relation.relation_members(relations, threshold=0.15)
        >>> members.member.dims, [str(name) for name in members.category.values]
        (('category', 'layer', 'head'), ['Knowledge', 'Linguistic'])

    References:
        Elhelo & Geva (2025), MAPS, arXiv 2412.11965.
    """
    _check(relations, threshold)
    rule = None if threshold == CALIBRATED else at_least(value=float(threshold))
    selection = checked_selection(relations, by="hc.papers.ov_relation.relation_members")
    members = members_of(relations, selection, rule=rule, min_tasks=1)
    text = repr(threshold) if isinstance(threshold, str) else f"{threshold:g}"
    return members.assign_attrs(rule=f"relation_members(threshold={text})")


def _check(relations: xr.Dataset, threshold: str | float | int) -> None:
    number = isinstance(threshold, numbers.Real) and not isinstance(threshold, bool) and 0 < threshold <= 1
    if not number and threshold != CALIBRATED:
        raise OptionError(f"threshold must be {CALIBRATED!r} or a number in (0, 1]; got {threshold!r}.")
    refuse_results(
        relations,
        by="hc.papers.ov_relation.relation_members",
        expected="`score` over (relation, layer, head)",
        table='hc.suite_blocks(results)["<method>"]',
    )
    lacking = [name for name in _NEEDED if not isinstance(relations, xr.Dataset) or name not in relations]
    if lacking:
        raise DataError(
            f"hc.papers.ov_relation.relation_members takes the relations of a joint method, or its block of a study; "
            f"this has no {', '.join(lacking)}."
        )
    if "categories" not in relations.attrs:
        raise DataError("These relations have no categories: call the method with categories={name: category, ...}.")
