"""`hc.report`: one self-contained page from saved results."""

import os
import warnings
from pathlib import Path
from typing import Any

import xarray as xr

from headcats.categories.argument_checks import RESULTS, check_is, check_rule
from headcats.categories.reading import Reading, map_tables
from headcats.errors import DataError, OptionError, StatisticsWarning
from headcats.reports.page.markup import document
from headcats.reports.page.material import Material
from headcats.reports.page.sections import SECTIONS
from headcats.results.folder import place_of, read_results
from headcats.results.place import Place, find_place
from headcats.results.run_results import RunResults
from headcats.results.whole_file import write_whole
from headcats.rules.rule import Rule

FILE = "report"


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

    Args:
        results: What `hc.run` or `hc.load` returns, or what `hc.load` takes. Evidence, robustness and views are looked
            for where the results were read from or saved in; results in memory have none.
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
    results: xr.DataTree | str | os.PathLike[str], path: str | os.PathLike[str] | None, reading: Reading
) -> Path:
    """`report` of a reading."""
    place, tree = _read(results)
    run = RunResults(tree).without_untried()
    reading = reading.resolve(run) if run.tasks else reading
    tables, cautions = _read_tables(run, reading)
    target = _target(path, place, reading.file_suffix(run) if tables else "")
    material = Material(run, tables, reading, place=place, target=target, cautions=cautions)
    sections = [section for make in SECTIONS if (section := make(material)).parts]
    write_whole(target, document(material, sections).encode("utf-8"))
    return target


def _read(results: Any) -> tuple[Place | None, xr.DataTree]:
    if isinstance(results, str | os.PathLike):
        place = find_place(results)
        return place, read_results(place)
    check_is(results, RESULTS, by="hc.report")
    if "manifest" not in results.attrs:
        raise DataError(
            "hc.report needs whole results, with the manifest that hc.run and hc.load put into their attributes; got a "
            "part of a tree, or one made by hand. Pass what hc.load returns, or the folder."
        )
    return place_of(results), results


def _read_tables(run: RunResults, reading: Reading) -> tuple[dict[str, xr.Dataset], tuple[str, ...]]:
    """Scores, members and overlap, and what the statistics warned of; nothing where no task was scored."""
    if not run.tasks:
        return {}, ()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", StatisticsWarning)
        tables = map_tables(run, reading)
    for warning in caught:
        if not issubclass(warning.category, StatisticsWarning):
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    cautions = [str(warning.message) for warning in caught if issubclass(warning.category, StatisticsWarning)]
    return tables, tuple(dict.fromkeys(cautions))


def _target(path: str | os.PathLike[str] | None, place: Place | None, suffix: str) -> Path:
    if path is not None:
        target = Path(path)
        if target.suffix.lower() not in (".html", ".htm") or target.is_dir():
            raise OptionError(f"Expected the name of an .html file for the report; got {str(path)!r}.")
        return target
    if place is None:
        raise OptionError(
            "These results lie in no folder, so the report needs a file: hc.report(results, 'report.html')."
        )
    return place.pages / f"{FILE}{suffix}.html"
