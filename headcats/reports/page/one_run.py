"""The page of one run, from its results folder or in memory."""

import contextlib
import os
import warnings
from pathlib import Path

from headcats.base.errors import DataError, OptionError, StatisticsWarning
from headcats.categories.map_result import MapResult
from headcats.categories.map_spec import MapSpec, refuse_unused
from headcats.categories.run_maps import joint_map
from headcats.reports.page.first_screen import first_screen
from headcats.reports.page.markup import document
from headcats.reports.page.material import Material
from headcats.reports.page.parts import Tab
from headcats.reports.page.sections import evidence, heads, views
from headcats.reports.page.sections import run as what_was_run
from headcats.reports.text.suggestions import read_map
from headcats.results.folder import ResultsFolder
from headcats.results.place import Place
from headcats.results.run_results import RunResults
from headcats.results.whole_file import write_whole

TABS = {
    ("tab-heads", "Heads"): (heads.heads,),
    ("tab-sharing", "Sharing"): (heads.shared,),
    ("tab-real", "Is it real?"): (evidence.caution, evidence.evidence, evidence.robustness),
    ("tab-attention", "Attention"): (views.views,),
    ("tab-tasks", "Tasks"): (heads.explorer, what_was_run.tasks),
    ("tab-method", "Method and repeat"): (what_was_run.run, heads.methods, evidence.words),
}
"""Address and title -> sections from top to bottom."""
FILE = "report"


def write_run(run: RunResults, path: str | os.PathLike[str] | None, reading: MapSpec) -> Path:
    """Write the page; returns its file."""
    result = _read_map(run, reading)
    is_named = result is not None and result.options and reading.is_asked
    target = target_of(path, run.place, result.suffix if result is not None and is_named else "")
    material = Material(run, result, run.place, target=target)
    tabs = [
        Tab(name, title, sections)
        for (name, title), makers in TABS.items()
        if (sections := tuple(section for make in makers if (section := make(material)).parts))
    ]
    page = document(material, tabs, first=first_screen(material))
    with _writing(target, run.place):
        write_whole(target, page.encode("utf-8"))
    return target


def _read_map(run: RunResults, reading: MapSpec) -> MapResult | None:
    """Return the map that is named; else that of scored tasks, or of the first joint method that sorts heads."""
    if run.tasks or reading.label.name:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StatisticsWarning)  # the page shows them
            return read_map(run, reading)
    for label in run.sorting_methods:
        try:
            return joint_map(run, label, reading)
        except DataError:  # a probe at chance, for example: the page says so beside its name
            if label == run.sorting_methods[-1] and reading.is_asked:
                raise
    refuse_unused(reading.options.keys() | reading.named, by="A page without a map")
    return None


def _writing(target: Path, place: Place | None) -> contextlib.AbstractContextManager[None]:
    """Hold the write lock of the results folder, where the page goes there."""
    inside = place is not None and target.resolve().parent == place.folder.resolve()
    return ResultsFolder(target.parent).adding("headcats report") if inside else contextlib.nullcontext()


def target_of(path: str | os.PathLike[str] | None, place: Place | None, suffix: str) -> Path:
    """File of a page; an OptionError for what is no page, or for results in memory without a path."""
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
