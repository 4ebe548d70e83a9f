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
        content: What it shows.
        by: Method, metric and rule that its heads were chosen by.
    """

    path: Path
    title: str
    content: str
    by: str


def saved_evidence(folder: Path) -> list[Evidence]:
    """Every complete test in a results folder, by name.

    Raises:
        StorageError: A damaged file.
    """
    return [Evidence(path.name, _tree(path)) for path in sorted(folder.glob(f"{EVIDENCE}*")) if not _lacking(path)]


def incomplete_evidence(folder: Path) -> dict[str, list[str]]:
    """Name of the folder of a test that was stopped while it was written -> files that it lacks."""
    lacking = {path.name: _lacking(path) for path in sorted(folder.glob(f"{EVIDENCE}*"))}
    # A folder with none of them holds something else, such as robustness.
    return {name: files for name, files in lacking.items() if 0 < len(files) < len(EVIDENCE_TABLES)}


def _lacking(test: Path) -> list[str]:
    return [f"{name}.nc" for name in EVIDENCE_TABLES if not (test / f"{name}.nc").is_file()]


def _tree(test: Path) -> xr.DataTree:
    again = f"`headcats evidence {test.parent}`"
    nodes = {f"/{name}": in_current_words(read_table(test / f"{name}.nc", again=again)) for name in EVIDENCE_TABLES}
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
