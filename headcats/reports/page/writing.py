"""`hc.report`: one self-contained page from saved results."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import xarray as xr

from headcats.categories.argument_checks import check_rule
from headcats.categories.map_spec import MapSpec
from headcats.evidence.comparison.runs import Runs, read_runs
from headcats.reports.page.one_run import write_run
from headcats.reports.page.several.writing import write_several
from headcats.rules.rule import Rule


def report(
    results: xr.DataTree | str | os.PathLike[str] | Sequence[Any] | Mapping[str, Any],
    path: str | os.PathLike[str] | None = None,
    *,
    method: str | None = None,
    positions: str | None = None,
    metric: str | None = None,
    effect: str = "total",
    rule: Rule | None = None,
    min_tasks: int | str | None = None,
    sign: str = "helping",
) -> Path:
    """Write what results say as one HTML file that explains itself.

    The page holds what was run and on what, the overlap map, the heads of each category with effect, interval, q and
    tasks, the overlap beside chance, what other methods found, the evidence and the attention views that lie in the
    results folder (or the commands that make them), and how to repeat the run. Choosing a head shows its numbers on
    every task and by every method. Everything is in the file: it needs no network, no model and no torch. Results of
    80 x 64 heads and 30 tasks by three methods take less than 6 MB; numbers of single tasks by further methods are left
    out where they would not fit, which the page says.

    Of several runs the page shows the maps side by side, with one switch of category and method, what agrees (Jaccard
    indices beside chance, as `hc.evidence.agreement`), which heads move and how sure that is, and what the runs differ
    in. Where consecutive runs have the same prompts, differences of effects are tested as in
    `hc.evidence.over_revisions`; of one model over its training, a series of revisions or folders of checkpoints such
    as `step1000/`, the page has the categories over it. Of a series the pages of the single revisions are written, too.
    Heads of different models do not correspond: then sizes, depth and sharing of the categories are compared
    (`hc.evidence.category_structure`). Runs are of one model if their weights are the same, or if they are points of
    one training. A copy of another run, or a run that cannot be compared with the first, is named with the reason.

    Args:
        results: What `hc.run` or `hc.load` returns, or what `hc.load` takes; or a series, or its folder; or several
            results in a list, or in a dictionary that names them. Evidence, robustness and views are looked for where
            the results were read from or saved in; results in memory have none.
        path: File to write. None writes `report.html` into the results folder, or of results "hf://owner/name" into
            `name/`, or of several runs `report-NAME-NAME.html` into the current directory; what is not the default is
            in its name.
        method: Method of the map, as `name` or `name@positions`; None takes the first exact one that was run. A joint
            method that sorts heads has a page of its own map; it is the default where no task
            was scored, and reads no positions, metric or effect. What further methods say of single tasks, and the
            evidence, are left to the page of a method that scores tasks. Of several runs, a method that scores tasks.
        positions: Positions, where a method was run at several.
        metric: Metric of the map; None takes the first of the run.
        effect: "total" or "task_specific" effects, as in `hc.score`.
        rule: Rule of membership, as in `hc.categorize`; None is `hc.rules.fdr(alpha=0.05, min_effect=0.05)`, or for a
            joint method the rule of its paper.
        min_tasks: As in `hc.categorize`, of which None is the default; for a joint method as in
            `hc.categorize`.
        sign: "helping" or "suppressing" heads.

    Returns:
        The file that was written. It appears complete or not at all.

    Raises:
        DataError: Something else than results, a series among several, or fewer than two that can be compared.
        OptionError: No path for results in memory, positions that have to be chosen, a rule without its options, an
            option that the method does not read, a joint method that sorts no heads, or the same results twice.
        UnknownNameError: A method or metric that the results do not hold.
        StorageError: A folder that cannot be read or written, or a damaged file in it.

    Example:
        >>> import headcats as hc
        >>> results = hc.load("results/mini-icl")
        >>> hc.report(results, "report.html").name
        'report.html'
    """
    check_rule(rule, by="hc.report")
    reading = MapSpec.parse(
        method=method, positions=positions, metric=metric, effect=effect, rule=rule, min_tasks=min_tasks, sign=sign
    )
    return write_report(read_runs(results, by="hc.report"), path, reading)


def write_report(runs: Runs, path: str | os.PathLike[str] | None, reading: MapSpec) -> Path:
    """`report` of a reading."""
    return write_several(runs, path, reading) if runs.alone is None else write_run(runs.alone, path, reading)
