"""Content that other commands have saved in a results folder: evidence, robustness and attention.

Each carries the state of the results that it was made of; it is shown beside these alone.
"""

import base64
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
from headcats.results.block_files import slug
from headcats.results.checksum import json_content_of, read_file
from headcats.results.folder import ATTENTION
from headcats.results.place import Place
from headcats.results.run_results import STATE, RunResults
from headcats.results.tables import MixedTablesError, as_written, check_set, read_table, read_whole, set_bytes
from headcats.results.whole_file import check_path, write_whole
from headcats.results.writer import held_for_writing

T = TypeVar("T")
_AGREEMENT, _PROTOCOLS = "agreement.nc", "protocols"


@dataclass(frozen=True)
class Robustness:
    """Dependence of the categories of one run on the protocol: `members` by protocol."""

    agreement: xr.Dataset
    members: Mapping[str, xr.Dataset]
    left_out: Mapping[str, str]


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
                continue  # it holds something else, such as robustness
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


def robustness_folder(reading: MapSpec) -> str:
    """Where it lies within a results folder."""
    return f"{EVIDENCE}/robustness{reading.judging_suffix}"


def save_robustness(run: RunResults, subfolder: str, robustness: Robustness) -> None:
    """Write that of a run into a subfolder of its folder, in place of what an earlier call wrote there."""
    tables = dict[str, xr.Dataset]()
    for place, (name, members) in enumerate(robustness.members.items()):
        means = members.drop_dims([dim for dim in ("resample", "flip") if dim in members.dims])
        tables[f"{_PROTOCOLS}/{place:03}-{slug(name)}.nc"] = means.assign_attrs(protocol=name)
    # Last, since it says that the others are there: a call that is stopped leaves nothing that looks whole.
    tables[_AGREEMENT] = robustness.agreement.assign_attrs(
        left_out=json.dumps(dict(robustness.left_out), ensure_ascii=False),
        tables=json.dumps(list(tables), ensure_ascii=False),
        **{STATE: run.state(map(str, run.scored))},
    )
    assert run.place is not None
    folder = run.place.folder
    home, contents = folder / subfolder, set_bytes(tables)
    with held_for_writing(folder, by="headcats compare"):
        for name, data in contents.items():
            write_whole(home / name, data)
        for path in {*home.glob("*.nc"), *home.glob(f"{_PROTOCOLS}/*.nc")}:
            if path.relative_to(home).as_posix() not in contents:
                path.unlink(missing_ok=True)


def saved_robustness(run: RunResults, subfolder: str) -> Saved[Robustness]:
    """Robustness of a run, by the subfolder in which it was saved."""
    saved = Saved[Robustness]({}, {})
    if run.place is None:
        return saved
    home, folder = run.place.folder / subfolder, run.place.folder
    try:
        check_path(home)
        if (home / _AGREEMENT).is_file():
            saved.contents[subfolder] = read_whole(functools.partial(_robustness, home, folder, run), folder)
    except StorageError as error:
        saved.problems[subfolder] = without_place(error, folder)
    return saved


def _robustness(home: Path, folder: Path, run: RunResults) -> Robustness:
    again = f"`headcats compare {shlex.quote(str(folder))}`"
    agreement = read_table(home / _AGREEMENT, again=again)
    check_current(agreement.attrs, run.state(map(str, run.scored)), again=again)
    stored = [path.relative_to(home).as_posix() for path in sorted(home.rglob("*.nc")) if path.name != _AGREEMENT]
    with as_written(str(home), again=again):
        names = json.loads(agreement.attrs["tables"])
        left_out = dict(json.loads(agreement.attrs["left_out"]))
        if gone := sorted(set(names) - set(stored)):
            raise MixedTablesError(f"{home} lacks {', '.join(gone)}. {again} makes it again.")
    tables = {name: read_table(home / name, again=again) for name in names}
    check_set([agreement, *tables.values()])
    members = {str(table.attrs.get("protocol", name)): table for name, table in tables.items()}
    return Robustness(agreement, members, left_out)


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
                saved.contents[str(entry["category"])] = _thumbnails(entry["thumbnails"])
        return saved
    except StorageError as error:
        problem = without_place(error, folder)
    except OSError as error:
        problem = f"it cannot be read ({error.strerror or type(error).__name__})"
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        problem = "it is damaged: its entries are not those of attention"
    return Saved({}, {ATTENTION: problem})


def _thumbnails(pictures: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Thumbnails by head; an error for what would be no picture."""
    for picture in pictures.values():
        for side in (picture["clean"], picture["corrupted"]):
            if len(base64.b64decode(side["shades"], validate=True)) != int(side["n"]) ** 2:
                raise ValueError("a pattern is no square")
            if not _are_looks(side["from"], side["looks"]):
                raise ValueError("what the last token looks at is not as it was written")
    return {str(head): dict(picture) for head, picture in pictures.items()}


def _are_looks(token: Any, looks: Any) -> bool:
    """True if these are a token, and tokens with their weights."""
    return isinstance(token, str) and all(
        isinstance(seen, str) and isinstance(weight, float | int) and not isinstance(weight, bool)
        for seen, weight in looks
    )
