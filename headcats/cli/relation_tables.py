"""The map of `ov_relation` as text: heads by category, what they share beside chance, relation by relation."""

import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import xarray as xr

from headcats.categories import head_table, overlap, relation_members
from headcats.cli.console import out, table
from headcats.cli.map_tables import print_counts
from headcats.cli.mapping import parse_rule
from headcats.cli.settings import DEFAULT_RULE
from headcats.cli.suite_tables import figure_file, suite_title
from headcats.errors import OptionError, StatisticsWarning
from headcats.figures.figure import write
from headcats.figures.ov_map import ov_map
from headcats.file_names import rule_marks
from headcats.results import ResultsFolder


def map_relations(block: xr.Dataset, folder: Path, *, rule: str, csv: bool, tried: Mapping[str, Sequence[str]]) -> None:
    """Print the categories of heads by their weights, and write the map (and the head list) into the folder.

    Args:
        block: The relations.
        folder: Where the map goes.
        rule: The rule of the command line.
        csv: Also write the head list.
        tried: Category that the method was asked for -> relations of it that were refused.

    Raises:
        OptionError: A rule other than a threshold.
    """
    threshold = _threshold(rule)
    here, suite = set(block["category"].values.tolist()), json.loads(block.attrs["categories"])
    listed = [entry for entry in suite if entry["name"] in here]  # chance is asked of these alone
    block = block.assign_attrs(categories=json.dumps(listed, ensure_ascii=False))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)  # said below
        members = relation_members(block, threshold=threshold)
    shared = overlap(members)
    out.print(f"\nHeads by {suite_title(block)}, {members.attrs['rule']}")
    heads = head_table(members)
    rows = []
    for category in (entry["name"] for entry in suite if entry["name"] in {*here, *tried}):
        if category not in here:
            rows.append([category, "0", "-", f"refused: {', '.join(tried[category]) or 'all'}", "-"])
            continue
        one = members.sel(category=category)
        mine = heads[heads["category"] == category]
        listed = [" ".join(mine[mine["kind"] == kind]["head"]) or "none" for kind in ("helping", "suppressing")]
        rows.append([category, str(int(one["n_tasks"])), str(int(one["size"])), *listed])
    columns = ["category", "relations", "heads", "implementing (largest score first)", "suppressing"]
    out.print(table("", columns, rows, numeric=frozenset({"relations", "heads"})))
    out.print(
        "A head has a category if it implements at least one relation of it: with many relations this saturates, "
        "whatever the heads do."
    )
    print_counts(shared)
    _print_relations(block, threshold)
    # What is not the default is in the name, so that no map replaces one by another rule.
    stem = "-".join([figure_file(block, "ov_map").removesuffix(".html"), *rule_marks(repr(parse_rule(rule)))])
    page = write(ov_map(block, threshold=threshold, title=suite_title(block)), folder / f"{stem}.html")
    out.print(f"\nMap: [bold]{page}[/]")
    if csv:
        name = f"heads-{stem}.csv"
        ResultsFolder(folder).write_bytes(name, heads.to_csv(index=False, lineterminator="\n").encode("utf-8"))
        out.print(f"Head list: [bold]{folder / name}[/]")


def _threshold(rule: str) -> str | float:
    judge = parse_rule(rule)
    if rule == DEFAULT_RULE:
        return "calibrated"
    if set(judge.options) == {"value"}:
        return float(judge.options["value"])
    raise OptionError(
        f"ov_relation has scores without p-values: --rule threshold:value=0.15, or none for the calibrated threshold; "
        f"got {rule!r}."
    )


def _print_relations(block: xr.Dataset, threshold: str | float) -> None:
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
    out.print(table("\nRelation by relation", columns, rows, numeric=frozenset(columns[2:6])))
    out.print("null: the 99.9th percentile of the score over heads when the targets are permuted.")
