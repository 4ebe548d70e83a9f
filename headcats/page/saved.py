"""What other commands have saved in a results folder: evidence, robustness and attention views."""

import json
from dataclasses import dataclass
from pathlib import Path

import xarray as xr

from headcats.errors import StorageError
from headcats.file_names import EVIDENCE, NODES


@dataclass(frozen=True)
class Evidence:
    """One test of the categories.

    Attributes:
        folder: Name of its folder, such as "evidence".
        tree: As `hc.run_evidence` returns it.
    """

    folder: str
    tree: xr.DataTree


@dataclass(frozen=True)
class View:
    """One page of attention patterns.

    Attributes:
        path: The file.
        title: What it is of.
        what: What it shows.
    """

    path: Path
    title: str
    what: str


def saved_evidence(folder: Path) -> list[Evidence]:
    """Every complete test in a results folder, by name.

    Raises:
        StorageError: A damaged file.
    """
    found = []
    for where in sorted(folder.glob(f"{EVIDENCE}*")):
        files = {name: where / f"{name}.nc" for name in NODES}
        if all(path.is_file() for path in files.values()):
            found.append(Evidence(where.name, _tree(files)))
    return found


def _tree(files: dict[str, Path]) -> xr.DataTree:
    nodes = {f"/{name}": read_saved(path) for name, path in files.items()}
    tree = xr.DataTree.from_dict(nodes)
    tree.attrs = {name: nodes["/specificity"].attrs[name] for name in ("reading", "options", "left_out")}
    return tree


def read_saved(path: Path) -> xr.Dataset:
    """One saved table.

    Raises:
        StorageError: It cannot be read.
    """
    try:
        with xr.open_dataset(path, engine="h5netcdf") as stored:
            return stored.load()
    except (OSError, ValueError, KeyError) as error:
        raise StorageError(f"{path} cannot be read: {error}. Make it again, or move it away.") from None


def saved_views(folder: Path) -> list[View]:
    """The views that `views/index.json` lists and that are there."""
    index = folder / "views" / "index.json"
    if not index.is_file():
        return []
    try:
        listed = json.loads(index.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StorageError(f"{index} cannot be read: {error}. `headcats views {folder}` makes it again.") from None
    paths = [(index.parent / entry["file"], entry) for entry in listed["views"]]
    return [View(path, str(entry["category"]), str(entry["what"])) for path, entry in paths if path.is_file()]
