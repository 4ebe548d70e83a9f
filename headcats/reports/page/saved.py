"""Content that other commands have saved in a results folder: evidence and attention.

Each carries the state of the results that it was made of; it is shown beside these alone.
"""

import functools
import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import xarray as xr

from headcats.base.errors import HeadcatsError, StorageError
from headcats.categories.map_spec import EVIDENCE, EVIDENCE_TABLES, MapSpec
from headcats.evidence.verdicts import VERDICTS
from headcats.reports.text.evidence import evidence_findings
from headcats.results.file_format import json_content_of, read_file
from headcats.results.folder import ATTENTION
from headcats.results.place import Place
from headcats.results.run_results import STATE, RunResults
from headcats.results.tables import MixedTablesError, as_written, check_set, read_table, read_whole
from headcats.results.whole_file import check_path

T = TypeVar("T")


@dataclass(frozen=True)
class Saved(Generic[T]):
    """Contents of a results folder by name, and the problems of those that cannot be shown."""

    contents: dict[str, T]
    problems: dict[str, str]


def check_current(attrs: Mapping[Any, Any], state: str, *, again: str = "") -> None:
    """Refuse what was not made of this `RunResults.state`: of other blocks, tasks or categories."""
    if attrs.get(STATE) != state:
        advice = f". {again} makes it again." if again else ""
        raise StorageError(f"it is of an earlier state of these results{advice}")


def saved_evidence(run: RunResults) -> Saved[xr.DataTree]:
    """Name of its folder -> test of the categories of a run, as `hc.run_evidence` returns it."""
    saved = Saved[xr.DataTree]({}, {})
    if run.place is None:
        return saved
    folder = run.place.folder
    for test in sorted(folder.glob(f"{EVIDENCE}*")):
        try:
            check_path(test)
            if not any((test / f"{name}.nc").is_file() for name in EVIDENCE_TABLES):
                continue  # it holds something else
            saved.contents[test.name] = read_whole(functools.partial(_tree, test, run), folder)
        except HeadcatsError as error:
            saved.problems[test.name] = without_place(error, folder)
    return saved


def without_place(error: HeadcatsError, folder: Path) -> str:
    """Problem of a file of a results folder, for a page that others read: without where the folder is."""
    if folder == Path():  # which is in no path
        return str(error)
    shown = Place(os.fspath(folder), folder).shown
    return str(error).replace(f"{folder}{os.sep}", "").replace(str(folder), shown)


def _tree(test: Path, run: RunResults) -> xr.DataTree:
    again = f"`headcats evidence {shlex.quote(str(test.parent))}`"
    if lacking := [f"{name}.nc" for name in EVIDENCE_TABLES if not (test / f"{name}.nc").is_file()]:
        raise MixedTablesError(f"it lacks {', '.join(lacking)}. {again} makes it again.")
    nodes = {f"/{name}": read_table(test / f"{name}.nc", again=again) for name in EVIDENCE_TABLES}
    check_set(nodes.values())
    tree = xr.DataTree.from_dict(nodes)
    with as_written(str(test), again=again):
        relabelling = nodes["/relabelling"][["verdict", "size", "inseparable"]]
        if unknown := set(relabelling["verdict"].values.tolist()) - set(VERDICTS):
            raise ValueError(f"verdict {unknown.pop()!r:.20}")
        attrs = nodes["/specificity"].attrs
        if "target" not in nodes["/specificity"].coords:  # xarray would give numbers in place of names
            raise KeyError("target")
        tree.attrs = {name: str(attrs[name]) for name in ("reading", "options", "left_out")}
        options = json.loads(tree.attrs["options"])
        if lacking := [name for name in ("method", "metric", "effect", "positions", "model") if name not in options]:
            raise KeyError(*lacking)
        # What the page and the command line take of it; an error later would take the rest of them along.
        list(map(str, evidence_findings(tree)))
        json.loads(tree.attrs["left_out"])
        reading = MapSpec.parse(**{name: options[name] for name in ("method", "metric", "effect")})
        more = {"positions": "all"} if options["positions"] == "all" else {}
        flags = "".join(f" --{name} {shlex.quote(value)}" for name, value in (reading.options_for(run) | more).items())
        # A method that is the default today gives other folders to others.
        is_there = test.name == reading.evidence_folder(run, ablated=options["positions"])
        check_current(attrs if is_there else {}, reading.state(run), again=f"{again[:-1]}{flags}`")
        tree.attrs[STATE] = str(attrs[STATE])
    return tree


def saved_attention(run: RunResults) -> Saved[dict[str, Any]]:
    """Category -> `thumbnails` of its heads, as `hc.save_attention` saved them."""
    saved = Saved[dict[str, Any]]({}, {})
    if run.place is None:
        return saved
    folder = run.place.folder
    file = folder / ATTENTION
    try:
        check_path(file)
        if file.is_file():
            content = json.loads(json_content_of(read_file(file)))
            check_current(content, run.state([str(content.get("method"))]))
            for entry in content["categories"]:
                saved.contents[str(entry["category"])] = entry["thumbnails"]
        return saved
    except StorageError as error:
        problem = without_place(error, folder)
    except OSError as error:
        problem = f"it cannot be read ({error.strerror or type(error).__name__})"
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        problem = "it is damaged: its entries are not those of attention"
    return Saved({}, {ATTENTION: problem})
