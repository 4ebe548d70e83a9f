"""What other commands have saved in a results folder: evidence, robustness and attention views."""

import functools
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import xarray as xr

from headcats.categories.reading import EVIDENCE, EVIDENCE_TABLES, Reading
from headcats.errors import StorageError
from headcats.results.folder import read_table, slug, table_bytes
from headcats.results.whole_file import write_whole

_AGREEMENT, _HALVES, _PROTOCOLS = "agreement.nc", "halves.nc", "protocols"


@dataclass(frozen=True)
class Robustness:
    """How far the categories of one run depend on the protocol and on the prompts.

    Attributes:
        members: Protocol -> what `hc.categorize` returns.
        left_out: Protocol -> why it is not compared.
        halves: With the attribute `title`; None where prompts were not halved.
    """

    agreement: xr.Dataset
    members: Mapping[str, xr.Dataset]
    left_out: Mapping[str, str]
    halves: xr.Dataset | None


@dataclass(frozen=True)
class View:
    """One page of attention patterns; `by` is the method, metric and rule that its heads were chosen by."""

    path: Path
    title: str
    content: str
    by: str


def saved_evidence(folder: Path) -> dict[str, xr.DataTree]:
    """Name of its folder -> every complete test of categories in a results folder, as `hc.run_evidence` returns it.

    Raises:
        StorageError: A damaged file.
    """
    return {path.name: _tree(path) for path in sorted(folder.glob(f"{EVIDENCE}*")) if not _lacking(path)}


def incomplete_evidence(folder: Path) -> dict[str, list[str]]:
    """Name of the folder of a test that was stopped while it was written -> files that it lacks."""
    lacking = {path.name: _lacking(path) for path in sorted(folder.glob(f"{EVIDENCE}*"))}
    # A folder with none of them holds something else, such as robustness.
    return {name: files for name, files in lacking.items() if 0 < len(files) < len(EVIDENCE_TABLES)}


def _lacking(test: Path) -> list[str]:
    return [f"{name}.nc" for name in EVIDENCE_TABLES if not (test / f"{name}.nc").is_file()]


def _tree(test: Path) -> xr.DataTree:
    again = f"`headcats evidence {test.parent}`"
    nodes = {f"/{name}": read_table(test / f"{name}.nc", again=again) for name in EVIDENCE_TABLES}
    tree = xr.DataTree.from_dict(nodes)
    tree.attrs = {name: nodes["/specificity"].attrs[name] for name in ("reading", "options", "left_out")}
    return tree


def robustness_folder(reading: Reading) -> str:
    """Where it lies within a results folder."""
    return f"{EVIDENCE}/robustness{reading.judging_suffix}"


def save_robustness(folder: str | os.PathLike[str], subfolder: str, robustness: Robustness) -> None:
    """Write it into a subfolder of a results folder, in place of what an earlier call wrote there.

    Raises:
        StorageError: The folder cannot be written.
    """
    files = {} if robustness.halves is None else {_HALVES: robustness.halves}
    for place, (name, members) in enumerate(robustness.members.items()):
        means = members.drop_dims([dim for dim in ("resample", "flip") if dim in members.dims])
        files[f"{_PROTOCOLS}/{place:03}-{slug(name)}.nc"] = means.assign_attrs(protocol=name)
    # Last, since it says that the others are there: a call that is stopped leaves nothing that looks whole.
    files[_AGREEMENT] = robustness.agreement.assign_attrs(
        left_out=json.dumps(dict(robustness.left_out), ensure_ascii=False)
    )
    contents = {name: table_bytes(table) for name, table in files.items()}
    shutil.rmtree(Path(folder) / subfolder, ignore_errors=True)
    for name, data in contents.items():
        write_whole(Path(folder) / subfolder / name, data)


def saved_robustness(folder: str | os.PathLike[str], subfolder: str) -> Robustness | None:
    """What was saved there; None where nothing was.

    Raises:
        StorageError: A damaged file.
    """
    home = Path(folder) / subfolder
    if not (home / _AGREEMENT).is_file():
        return None
    open_table = functools.partial(read_table, again=f"`headcats compare {folder}`")
    agreement = open_table(home / _AGREEMENT)
    halves = open_table(home / _HALVES) if (home / _HALVES).is_file() else None
    protocols = [open_table(path) for path in sorted((home / _PROTOCOLS).glob("*.nc"))]
    members = {str(protocol.attrs["protocol"]): protocol for protocol in protocols}
    return Robustness(agreement, members, json.loads(agreement.attrs["left_out"]), halves)


def saved_views(folder: Path) -> list[View]:
    """The views that `views/index.json` lists and that are there.

    Raises:
        StorageError: An index that cannot be read, or that is no index.
    """
    index = folder / "views" / "index.json"
    if not index.is_file():
        return []
    try:
        content = json.loads(index.read_text(encoding="utf-8"))
        by = str(content.get("by", ""))
        views = [
            View(index.parent / Path(entry["file"]).name, str(entry["category"]), str(entry["what"]), by)
            for entry in content["views"]
        ]
    except (OSError, ValueError, TypeError, LookupError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise StorageError(f"{index} cannot be read ({reason}). `headcats views {folder}` makes it again.") from None
    return [view for view in views if view.path.is_file()]
