"""The page of one run, from its results folder or in memory."""

import contextlib
import os
import warnings
from pathlib import Path

from headcats.categories.reading import Reading, refuse_unused
from headcats.categories.run_maps import RunMaps, run_maps
from headcats.errors import DataError, OptionError, StatisticsWarning
from headcats.reports.page.first_screen import first_screen
from headcats.reports.page.markup import document
from headcats.reports.page.material import Material
from headcats.reports.page.parts import Tab
from headcats.reports.page.python_lines import shown_folder
from headcats.reports.page.sections import TABS
from headcats.reports.text.selected import Selected, select_joint
from headcats.reports.text.suggestions import check_scored, sorting_label
from headcats.results.folder import ResultsFolder
from headcats.results.place import Place
from headcats.results.run_results import RunResults
from headcats.results.whole_file import write_whole

FILE = "report"


def write_run(run: RunResults, path: str | os.PathLike[str] | None, reading: Reading) -> Path:
    """Write the page; returns its file."""
    place = run.place
    maps: RunMaps | None = None
    cautions: tuple[str, ...] = ()
    suffix = ""
    if selected := _selected(run, reading):
        suffix = selected.suffix if selected.options and reading.is_asked else ""
    elif run.tasks:
        reading = reading.resolve(run)
        maps, cautions = read_maps(run, reading)
        suffix = reading.file_suffix(run)
    target = target_of(path, place, suffix)
    material = Material(run, maps, reading, place=place, target=target, cautions=cautions, selected=selected)
    tabs = [
        Tab(name, title, sections)
        for (name, title), makers in TABS.items()
        if (sections := tuple(section for make in makers if (section := make(material)).parts))
    ]
    page = document(material, tabs, first=first_screen(material))
    with _writing(target, place):
        write_whole(target, page.encode("utf-8"))
    return target


def _selected(run: RunResults, reading: Reading) -> Selected | None:
    """By the joint method that was named, or where no task was scored by the first that can sort heads.

    An OptionError for a joint method that sorts none or that these results lack, and for options that nothing reads.
    """
    method, place = str(reading.label) if reading.label.name else None, run.place or Path(shown_folder(None))
    if method is None:
        labels = [] if run.tasks else run.sorting_methods
    else:
        named = sorting_label(run, place, method)
        labels = [] if named is None else [named]
    for label in labels:
        try:
            return select_joint(run, label, reading)
        except DataError:  # a probe at chance, for example: the page says so beside its name
            if label == labels[-1] and reading.is_asked:
                raise
    if not run.tasks:
        if method is not None:
            check_scored(run, place, method, by="A map")
        refuse_unused(reading.options.keys() | reading.named, by="A page without a map")
    return None


def _writing(target: Path, place: Place | None) -> contextlib.AbstractContextManager[None]:
    """Be the only writer of the results folder within, where the page goes there."""
    inside = place is not None and target.resolve().parent == place.folder.resolve()
    return ResultsFolder(target.parent).adding("headcats report") if inside else contextlib.nullcontext()


def read_maps(run: RunResults, reading: Reading) -> tuple[RunMaps, tuple[str, ...]]:
    """All maps, and what the statistics warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", StatisticsWarning)
        maps = run_maps(run, reading)
    for warning in caught:
        if not issubclass(warning.category, StatisticsWarning):
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    cautions = [str(warning.message) for warning in caught if issubclass(warning.category, StatisticsWarning)]
    return maps, tuple(dict.fromkeys(cautions))


def target_of(path: str | os.PathLike[str] | None, place: Place | None, suffix: str) -> Path:
    """Where a page goes; an OptionError for what is no page, or for results in memory without a path."""
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
