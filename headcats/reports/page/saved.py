"""What other commands have saved in a results folder: evidence, robustness and attention views."""

import json
from dataclasses import dataclass
from pathlib import Path

import xarray as xr

from headcats.categories.reading import EVIDENCE, EVIDENCE_TABLES
from headcats.errors import StorageError
from headcats.evidence.verdicts import in_current_words
from headcats.results.folder import read_table


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
        by: Method, metric and rule that its heads were chosen by.
    """

    path: Path
    title: str
    what: str
    by: str


def saved_evidence(folder: Path) -> list[Evidence]:
    """Every complete test in a results folder, by name.

    Raises:
        StorageError: A damaged file.
    """
    return [Evidence(where.name, _tree(files)) for where, files in _tests(folder) if not _lacking(files)]


def incomplete_evidence(folder: Path) -> dict[str, list[str]]:
    """Name of the folder of a test that was stopped while it was written -> files that it lacks."""
    found = {where.name: _lacking(files) for where, files in _tests(folder)}
    # A folder with none of them holds something else, such as robustness.
    return {name: lacking for name, lacking in found.items() if 0 < len(lacking) < len(EVIDENCE_TABLES)}


def _tests(folder: Path) -> list[tuple[Path, dict[str, Path]]]:
    found = sorted(folder.glob(f"{EVIDENCE}*"))
    return [(where, {name: where / f"{name}.nc" for name in EVIDENCE_TABLES}) for where in found]


def _lacking(files: dict[str, Path]) -> list[str]:
    return [path.name for path in files.values() if not path.is_file()]


def _tree(files: dict[str, Path]) -> xr.DataTree:
    again = f"`headcats evidence {next(iter(files.values())).parents[1]}`"
    nodes = {f"/{name}": in_current_words(read_table(path, again=again)) for name, path in files.items()}
    tree = xr.DataTree.from_dict(nodes)
    tree.attrs = {name: nodes["/specificity"].attrs[name] for name in ("reading", "options", "left_out")}
    return tree


def saved_views(folder: Path) -> list[View]:
    """The views that `views/index.json` lists and that are there.

    Raises:
        StorageError: An index that cannot be read, or that is no index.
    """
    index = folder / "views" / "index.json"
    if not index.is_file():
        return []
    try:
        listed = json.loads(index.read_text(encoding="utf-8"))
        by = str(listed.get("by", ""))
        found = [
            View(index.parent / Path(entry["file"]).name, str(entry["category"]), str(entry["what"]), by)
            for entry in listed["views"]
        ]
    except (OSError, ValueError, TypeError, LookupError, AttributeError) as error:
        why = f"{type(error).__name__}: {error}"
        raise StorageError(f"{index} cannot be read ({why}). `headcats views {folder}` makes it again.") from None
    return [view for view in found if view.path.is_file()]
