"""`hc.report`: one self-contained page from saved results."""

import os
from pathlib import Path

import xarray as xr

from headcats.categories.argument_checks import check_rule
from headcats.categories.reading import Reading
from headcats.reports.page.one_run import write_run
from headcats.reports.page.series import write_series
from headcats.results.run_results import RunResults
from headcats.results.series import is_series, load_series
from headcats.rules.rule import Rule


def report(
    results: xr.DataTree | str | os.PathLike[str],
    path: str | os.PathLike[str] | None = None,
    *,
    method: str | None = None,
    positions: str | None = None,
    metric: str | None = None,
    effect: str = "total",
    rule: Rule | None = None,
    min_tasks: int | str = "half",
    sign: str = "helping",
) -> Path:
    """Write what results say as one HTML file that explains itself.

    The page holds what was run and on what, the overlap map, the heads of each category with effect, interval, q and
    tasks, the overlap beside chance, what other methods found, the evidence and the attention views that lie in the
    results folder (or the commands that make them), and how to repeat the run. Choosing a head shows its numbers on
    every task and by every method. Everything is in the file: it needs no network, no model and no torch. Results of
    80 x 64 heads and 30 tasks by two methods take less than 8 MB; numbers of single tasks by further methods are left
    out where they would not fit, which the page says.

    Of a series of revisions the page holds the categories over all of them, and links those of the single revisions,
    which are written, too.

    Args:
        results: What `hc.run` or `hc.load` returns, or what `hc.load` takes; or a series (`hc.load_series`), or its
            folder. Evidence, robustness and views are looked for where the results were read from or saved in; results
            in memory have none.
        path: File to write. None writes `report.html` into the results folder, or of results "hf://owner/name" into
            `name/`; what is not the default is in its name.
        method: Method of the map, as `name` or `name@positions`; None takes the first exact one that was run.
        positions: Positions, where a method was run at several.
        metric: Metric of the map; None takes the first of the run.
        effect: "total" or "task_specific" effects, as in `hc.score`.
        rule: Rule of membership, as in `hc.categorize`; None is `hc.rules.fdr(alpha=0.05, min_effect=0.05)`.
        min_tasks: As in `hc.categorize`.
        sign: "helping" or "suppressing" heads.

    Returns:
        The file that was written. It appears complete or not at all.

    Raises:
        DataError: Something else than results.
        OptionError: No path for results in memory, positions that have to be chosen, a rule without its options.
        UnknownNameError: A method or metric that the results do not hold.
        StorageError: A folder that cannot be read or written, or a damaged file in it.

    Example:
        >>> import headcats as hc
        >>> results = hc.load("results/mini-icl")
        >>> hc.report(results, "report.html").name
        'report.html'
    """
    check_rule(rule, by="hc.report")
    reading = Reading.parse(
        method=method, positions=positions, metric=metric, effect=effect, rule=rule, min_tasks=min_tasks, sign=sign
    )
    return write_report(results, path, reading)


def write_report(
    results: xr.DataTree | str | os.PathLike[str] | RunResults, path: str | os.PathLike[str] | None, reading: Reading
) -> Path:
    """`report` of a reading."""
    if isinstance(results, str | os.PathLike) and is_series(results):
        results = load_series(results)
    if isinstance(results, xr.DataTree) and "series" in results.attrs:
        return write_series(results, path, reading)
    return write_run(results, path, reading)
