"""Heads of categories by a joint method of a run: what `headcats map`, `headcats figure` and `headcats report` show."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import xarray as xr

from headcats.categories.reading import Reading, refuse_unused
from headcats.reports.text.joint_blocks import block_tables, block_title
from headcats.results.folder import slug
from headcats.results.run_results import RunResults
from headcats.results.tables import as_written


@dataclass(frozen=True)
class Selected:
    """Heads of categories.

    Attributes:
        tables: `members` and `overlap`.
        names: The method, or the two methods that agree.
        title: One line on what a map shows.
        suffix: End of the names of its files, so that none replaces that of another selection.
        joint: Whether the method is a joint one.
        options: Of a joint one, what a command on this run needs to select the same, without dashes -> value.
    """

    tables: Mapping[str, xr.Dataset]
    names: tuple[str, ...]
    title: str
    suffix: str
    joint: bool = False
    options: Mapping[str, str] = field(default_factory=dict)


def select_joint(run: RunResults, label: str, reading: Reading) -> Selected:
    """By the block of a joint method, by its own rule and number of tasks where the reading names none."""
    unread = reading.options.keys() & {"positions", "metric", "effect"}
    refuse_unused(unread, by=f"The map of {label}")
    block = run.joint_blocks[label]
    with as_written(f"The block of {label}", again="The same `headcats run`"):
        tables = block_tables(run, label, rule=reading.named_rule, min_tasks=reading.named_min_tasks, sign=reading.sign)
    suffix = f"-{slug(label)}{Reading(rule=reading.rule, sign=reading.sign).judging_suffix}"
    if reading.named_min_tasks not in (None, 1):  # one is what no number means here
        suffix += f"-min_tasks={reading.min_tasks}"
    is_only_one = not run.tasks and run.sorting_methods == [label]
    named = sorted(reading.named | (reading.options.keys() & {"sign"}))
    options = ({} if is_only_one else {"method": label}) | {name: reading.flags[name] for name in named}
    return Selected(tables, (label,), block_title(block, tables), suffix, joint=True, options=options)
