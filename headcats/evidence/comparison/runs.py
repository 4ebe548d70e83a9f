"""Several runs in an order: the revisions of a series, checkpoints in local folders, or runs of any kind."""

import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any, TypeVar

import xarray as xr

from headcats.base.errors import DataError, OptionError, StatisticsWarning
from headcats.categories.argument_checks import RESULTS, check_is
from headcats.results.loading import open_results, open_series
from headcats.results.place import HUB, Place, find_place
from headcats.results.run_results import RunResults
from headcats.results.series import SeriesRecord, series_record
from headcats.results.sources import located
from headcats.results.visible import visible

TASKS = "tasks"
_LONGEST = 40
"""Characters of the name of a run."""
_STEP = re.compile(r"(?:step|checkpoint|ckpt|epoch)[-_]?(\d+)", re.IGNORECASE)
_OF_POINTS = ("model name", "model revision", "model weights_hash", "model source")
_POINT = tuple[str, str | None]
_T = TypeVar("_T")


@dataclass(frozen=True, eq=False)
class Runs(Mapping[str, RunResults]):
    """Results by name, in order, without categories of the suite that none of them has tried."""

    results: Mapping[str, RunResults]
    model: str = ""  # that all are of over its training; "" where they are no training
    steps: Mapping[str, int] = field(default_factory=dict)
    copies: Mapping[str, str] = field(default_factory=dict)  # run left out -> the one whose results it repeats
    planned: tuple[str, ...] = ()  # all revisions of a series, also those without results yet
    series: Place | None = None  # None where runs were named one by one

    def __getitem__(self, name: str) -> RunResults:
        return self.results[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all runs, in order, also of revisions without results yet."""
        return self.planned or tuple(self.results)

    @property
    def alone(self) -> RunResults | None:
        """The results, where one run was named; None for several and for a series."""
        return next(iter(self.values())) if len(self) == 1 and not (self.copies or self.planned) else None

    @property
    def is_training(self) -> bool:
        """True if these are one model at several points of its training."""
        return bool(self.model)

    @cached_property
    def corresponds(self) -> bool:
        """True if heads of the same name are the same head: all runs are of one model, or of its training."""
        models = [run.manifest_or_empty.model for run in self.values()]
        points = [_point(run) for run in self.values()]
        return self.is_training or all(
            (model.layers, model.heads) == (models[0].layers, models[0].heads)
            and (
                model.weights_hash == models[0].weights_hash or (point[0] == points[0][0] and point[1] != points[0][1])
            )
            for model, point in zip(models, points, strict=True)
        )

    def as_tuned(self) -> "Runs | None":
        """Two runs of different models of one shape as a base and what was made of it, in this order; None for others.

        Nothing else says that heads of the same name are the same head.
        """
        models = [run.manifest_or_empty.model for run in self.values()]
        shapes = {(model.layers, model.heads, model.n_layers, model.d_model) for model in models}
        if len(self) != 2 or self.corresponds or len(shapes) > 1 or not models[0].layers:
            return None
        return replace(self, model=" and ".join(dict.fromkeys(model.name for model in models)))

    @cached_property
    def differences(self) -> dict[str, list[Any]]:
        """Parts of plan and model that differ, such as "plan seed" or "tasks" -> value in each run."""
        manifests = [run.manifest_or_empty for run in self.values()]
        records = {
            "plan": [manifest.plan.complete() for manifest in manifests],
            "model": [manifest.model.complete() for manifest in manifests],
        }
        values = {
            f"{part} {name}": [each[name] for each in parts] for part, parts in records.items() for name in parts[0]
        }
        values[TASKS] = [run.scored_tasks for run in self.values()]
        known = _OF_POINTS if self.is_training else ()
        differing = {part: column for part, column in values.items() if any(value != column[0] for value in column)}
        return {part: column for part, column in differing.items() if part not in known}


def read_runs(results: Any, *, by: str) -> Runs:
    """Read results in memory, a folder or an address, a series, or several of them in a list or by name.

    A DataError for something else, an OptionError for the same results twice, a StorageError for an unreadable folder.
    """
    if isinstance(results, Runs):
        return results
    # Trees and tables are mappings, too, and texts are sequences.
    is_several = isinstance(results, Sequence | Mapping) and not isinstance(
        results, xr.DataTree | xr.Dataset | str | bytes
    )
    if not is_several or len(results) == 1:
        given = results if not is_several else next(iter(results.values() if isinstance(results, Mapping) else results))
        read = _read(given, by=by)
        return read if isinstance(read, Runs) else Runs(_tried({str(read.place or "results"): read}))
    given = list(results.values()) if isinstance(results, Mapping) else list(results)
    if not given:
        raise DataError("A report needs results of at least one run; got none.")
    runs = []
    for each in given:
        read = _read(each, by=by)
        if isinstance(read, Runs):
            raise DataError(
                f"{read.series or 'One of these results'} is a series of revisions. Its own report is over all of "
                "them; to compare some, name their folders within it."
            )
        runs.append(read)
    places = [run.place for run in runs]
    keys = [str(id(run.tree)) if run.place is None else str(run.place.folder.resolve()) for run in runs]
    for number, key in enumerate(keys):
        if key in keys[:number]:
            raise OptionError(f"{places[number] or 'The same results'} was given twice: name every run once.")
    names = list(map(str, results)) if isinstance(results, Mapping) else _names(places)
    return named_runs(_tried(dict(zip(names, runs, strict=True))))


def named_runs(results: Mapping[str, RunResults]) -> Runs:
    """Runs by name, ordered and compared as `read_runs` does it."""
    distinct, copies = dict[str, RunResults](), dict[str, str]()
    for name, run in results.items():
        if first := next((other for other, before in distinct.items() if run.repeats(before)), ""):
            copies[name] = first
        else:
            distinct[name] = run
    points = {name: _point(run) for name, run in distinct.items()}
    runs, models = Runs(distinct, copies=copies), {model for model, _ in points.values()}
    if not runs.corresponds or len(models) > 1 or not 1 < len(points) == len({at for _, at in points.values()}):
        return runs
    matches = {name: _STEP.search(at or "") or _STEP.search(name) for name, (_, at) in points.items()}
    steps = {name: int(step[1]) for name, step in matches.items() if step}
    if len(steps) == len(distinct):
        distinct = {name: distinct[name] for name in sorted(distinct, key=steps.__getitem__)}
    return Runs(distinct, Path(models.pop()).name, steps, copies)


def judge_each(
    names: Iterable[str], judge: Callable[[str], _T]
) -> tuple[dict[str, _T], dict[str, str], dict[str, list[str]]]:
    """Judge by name: results, reasons where there is none, and warning -> names that gave it."""
    judged, reasons, messages = dict[str, _T](), dict[str, str](), dict[str, list[str]]()
    for name in names:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", StatisticsWarning)
            try:
                judged[name] = judge(name)
            except DataError as error:
                reasons[name] = str(error)
        for message in dict.fromkeys(str(warned.message) for warned in caught):
            messages.setdefault(message, []).append(name)
    return judged, reasons, messages


def _of_series(record: SeriesRecord, results: Mapping[str, RunResults], place: Place | None) -> Runs:
    steps = {revision.name: revision.step for revision in record.revisions if revision.step is not None}
    planned = tuple(revision.name for revision in record.revisions)
    return Runs(_tried(results), record.model, steps, planned=planned, series=place)


def _tried(results: Mapping[str, RunResults]) -> dict[str, RunResults]:
    return {name: run.without_untried(*results.values()) for name, run in results.items()}


def _read(results: Any, *, by: str) -> RunResults | Runs:
    if isinstance(results, RunResults | Runs):
        return results
    if isinstance(results, str | os.PathLike):
        place = find_place(results)
        series = open_series(place)
        return open_results(place) if series is None else _of_series(*series, place)
    if isinstance(results, xr.DataTree) and "series" in results.attrs:
        source, record = results.encoding.get("source"), series_record(results)
        runs = {name: RunResults(tree) for name, tree in results.children.items()}
        return _of_series(record, runs, None if source is None else find_place(source))
    check_is(results, RESULTS, by=by)
    if "manifest" not in results.attrs:
        raise DataError(
            f"{by} needs whole results, with the manifest that hc.run and hc.load put into their attributes; got a "
            "part of a tree, or one made by hand. Pass what hc.load returns, or the folder."
        )
    return RunResults(results)


def _names(places: Sequence[Place | None]) -> list[str]:
    """The ends of paths, as long as they need to be to differ; results in memory are numbered."""
    folders = [
        place and (place.address.removeprefix(HUB) if place.on_hub else str(place.folder.resolve())) for place in places
    ]
    parts = [PurePath(folder).parts if folder else (f"results {n}",) for n, folder in enumerate(folders, 1)]
    longest = max(map(len, parts))
    ends = (["/".join(of_one[-n:]) for of_one in parts] for n in range(1, longest + 1))
    names = next(names for names in ends if len(set(names)) == len(names) or names == ["/".join(p) for p in parts])
    short = [name if len(visible(name)) <= _LONGEST else f"…{visible(name)[1 - _LONGEST :]}" for name in names]
    return short if len(set(short)) == len(short) else [f"{n}: {name}" for n, name in enumerate(short, 1)]


def _point(run: RunResults) -> _POINT:
    """Model and point of its training: name and revision, or the folder of the checkpoints and the one among them."""
    model = run.manifest_or_empty.model
    source = model.source if run.place is None else located(model.source, run.place.folder)
    folder = Path(source)
    if model.revision is None and source.startswith((".", os.sep)) and _STEP.search(folder.name):
        return os.path.normpath(folder.parent / _STEP.sub("", folder.name)), folder.name
    return model.name, model.revision
