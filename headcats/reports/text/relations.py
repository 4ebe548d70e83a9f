"""A map of relations in the weights: heads by category, what they share beside chance, relation by relation."""

import json
import warnings
from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from headcats.categories.by_relation import relation_members
from headcats.categories.head_list import head_table
from headcats.categories.shared import overlap
from headcats.errors import OptionError, StatisticsWarning
from headcats.reports.text.joint_blocks import suite_title
from headcats.reports.text.maps import count_findings
from headcats.reports.text.table import Finding, Table, table
from headcats.rules import Rule
from headcats.rules.text import rule_text
from headcats.study.defaults import DEFAULT_RULE

_SATURATES = (
    "A head has a category if it implements at least one relation of it: with many relations this saturates, whatever "
    "the heads do."
)


def relation_map(
    block: xr.Dataset, *, threshold: str | float, tried: Mapping[str, Sequence[str]]
) -> tuple[xr.Dataset, list[Finding]]:
    """The categories of heads by their weights, and what is to be said of them.

    Args:
        block: The relations, as `ov_relation` gives them.
        threshold: As in `hc.categories.relation_members`.
        tried: Category that the method was asked for -> relations of it that were refused.

    Returns:
        What `hc.overlap` returns of them, and the findings.
    """
    here, suite = set(block["category"].values.tolist()), json.loads(block.attrs["categories"])
    kept = [entry for entry in suite if entry["name"] in here]  # chance is asked of these alone
    block = block.assign_attrs(categories=json.dumps(kept, ensure_ascii=False))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)  # said below
        members = relation_members(block, threshold=threshold)
    shared, order = overlap(members), [entry["name"] for entry in suite if entry["name"] in {*here, *tried}]
    return shared, [
        _heads(members, order, f"Heads by {suite_title(block)}, {members.attrs['rule']}", tried=tried),
        _SATURATES,
        *count_findings(shared),
        _relations(block, threshold),
        "null: the 99.9th percentile of the score over heads when the targets are permuted.",
    ]


def threshold_of(rule: Rule, *, method: str) -> str | float:
    """The threshold of `hc.categories.relation_members` that a rule of the command line stands for.

    Args:
        rule: The rule; the default one stands for the calibrated threshold.
        method: Whose relations are judged, for the message.

    Raises:
        OptionError: A rule other than a threshold.
    """
    if rule_text(rule) == DEFAULT_RULE:
        return "calibrated"
    if set(rule.options) == {"value"}:
        return float(rule.options["value"])
    raise OptionError(
        f"{method} has scores without p-values: --rule threshold:value=0.15, or none for the calibrated threshold; "
        f"got {rule_text(rule)!r}."
    )


def _heads(members: xr.Dataset, categories: Sequence[str], title: str, *, tried: Mapping[str, Sequence[str]]) -> Table:
    heads, rows = head_table(members), []
    for category in categories:
        if category not in members["category"].values:
            rows.append([category, "0", "-", f"refused: {', '.join(tried[category]) or 'all'}", "-"])
            continue
        one, mine = members.sel(category=category), heads[heads["category"] == category]
        listed = [" ".join(mine[mine["kind"] == kind]["head"]) or "none" for kind in ("helping", "suppressing")]
        rows.append([category, str(int(one["n_tasks"])), str(int(one["size"])), *listed])
    columns = ["category", "relations", "heads", "implementing (largest score first)", "suppressing"]
    return table(title, columns, rows, numeric=("relations", "heads"))


def _relations(block: xr.Dataset, threshold: str | float) -> Table:
    rows = []
    for place, task in enumerate(block["task"].values.tolist()):
        one = block.isel(task=place)
        least = float(one["threshold"]) if threshold == "calibrated" else float(threshold)
        score = one["score"]
        layer, head = np.unravel_index(np.nanargmax(score.values), score.shape)
        name = f"L{int(score['layer'][layer])}H{int(score['head'][head])}"
        rows.append(
            [
                str(task),
                str(one["category"].item()),
                str(int(one["n"])),
                f"{float(one['null']):.2f}",
                f"{least:.2f}",
                str(int((score >= least).sum())),
                f"{name} {float(score[layer, head]):.2f}",
            ]
        )
    columns = ["relation", "category", "pairs", "null", "threshold", "heads", "largest score"]
    return table("Relation by relation", columns, rows, numeric=columns[2:6])
