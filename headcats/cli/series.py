"""Commands on a series of revisions: run it, and show the categories over it."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import xarray as xr

from headcats.base.errors import DataError, OptionError, StorageError
from headcats.categories.map_spec import MapSpec, refuse_unused
from headcats.cli.answer import Answer
from headcats.cli.console import note_unfinished, warn
from headcats.evidence.comparison.revisions import judge_training
from headcats.evidence.comparison.runs import Runs, read_runs
from headcats.figures.colours import listed_colours
from headcats.reports.text.answer import toy_model_warning
from headcats.reports.text.revisions import changed_heads, judged_revisions, revision_findings, short_revisions
from headcats.results.head_axes import HEAD
from headcats.results.run_results import RunResults


def run_revisions(options: Mapping[str, Any], folder: Path, *, answer: Answer) -> None:
    """Score the revisions that the options name, and write the page of the series and that of each."""
    if "revision" in options:
        raise OptionError("--revision names one revision and --revisions several: leave out one of the two.")
    from headcats.scale.series_run import run_series
    from headcats.study.loading import checked_options

    loader, study = checked_options(options)
    loader.pop("revision")
    run_series(options["model"], options["revisions"], loader=loader, **study)
    runs = read_runs(folder, by="headcats run")
    try:
        _tell(runs, MapSpec.parse(), answer)
    except DataError as error:  # joint methods alone, or not enough for the rule: the results are whole without it
        warn(f"No map over the revisions: {error}")
        return
    from headcats.reports.page.writing import write_report

    page = write_report(runs, None, MapSpec.parse())
    answer.wrote("report", page, f"Open {page} in a browser.")


def map_training(runs: Runs, reading: MapSpec, *, csv: bool, answer: Answer) -> None:
    """The heads of every category at every revision, and the figure as a page in the folder of the series."""
    from headcats.figures import data, write
    from headcats.figures.checkpoints import checkpoints

    course, reading = _tell(runs, reading, answer)
    assert runs.series is not None
    figure, folder, suffix = checkpoints(course, title=reading.title), runs.series.folder, reading.judging_suffix
    page = folder / f"checkpoints{suffix}.html"
    try:
        answer.wrote("map", write(figure, page), f"Map: {page}")
    except StorageError as error:
        warn(f"There is no page with the map: {error}")
        answer.wrote("map", None)
    if csv:
        heads = folder / f"heads{suffix}.csv"
        answer.write_table("heads", data(figure), heads, f"Heads by revision: {heads}")
    answer.end()


def _tell(runs: Runs, reading: MapSpec, answer: Answer) -> tuple[xr.Dataset, MapSpec]:
    refuse_unused(reading.options.keys() & {"effect", "sign"}, by="A map over revisions")
    for run in runs.values():
        note_unfinished(run)
    course, reading = judge_training(runs, reading)
    last = runs[judged_revisions(course)[-1]]
    assert runs.series is not None
    answer.short = short_revisions(
        course,
        warnings=toy_model_warning(last.manifest.model),
        next_command=_next_command(course, last, reading, runs.series.folder),
        colours=listed_colours(course),
    )
    answer.detail(revision_findings(course, reading.title))
    answer.numbers = {"folder": runs.series.folder, **_numbers(course)}
    return course, reading


def _next_command(course: xr.Dataset, last: RunResults, reading: MapSpec, folder: Path) -> str:
    """The test of the categories at the last revision, where it has any; else the pages."""
    at_last = course.sel(revision=judged_revisions(course)[-1])
    if last.place is None or reading.label.unit != HEAD or not (at_last["member"] == 1).any():
        return f"headcats report {shlex.quote(str(folder))}"
    values = reading.options_for(last)
    chosen = "".join(f" --{key} {shlex.quote(values[key])}" for key in ("method", "metric") if key in values)
    return f"headcats evidence {shlex.quote(str(last.place))}{chosen}"


def _numbers(course: xr.Dataset) -> dict[str, Any]:
    """Numbers of a series, as `headcats map --help` says."""
    revisions = []
    for name, step in zip(course["revision"].values.tolist(), course["step"].values, strict=True):
        at = course.sel(revision=name)
        skipped = {task: reason for task, reason in at["skipped"].to_series().items() if reason}
        categories = [_category(at.sel(category=category)) for category in course["category"].values.tolist()]
        revisions.append({"revision": name, "step": step, "skipped": skipped, "categories": categories})
    names = ("model", "method", "positions", "metric", "rule", "alpha")
    return {name: course.attrs[name] for name in names} | {"revisions": revisions}


def _category(cell: xr.Dataset) -> dict[str, Any]:
    changes = changed_heads(cell)
    judged = bool(cell["effect"].notnull().any())
    return {
        "category": cell["category"].item(),
        "tasks": cell["n_tasks"].item(),
        "skipped": cell["n_skipped"].item(),
        "heads": int(cell["size"]) if judged else None,
        "undecided": int(cell["undecided"]) if judged else None,
        "comes": changes[1],
        "goes": changes[-1],
    }
