"""Where results are, in a folder or on the hub, of which a copy is read; and what is wrong with a path without any."""

import difflib
import os
import shlex
from dataclasses import dataclass
from pathlib import Path

from headcats.base.errors import StorageError
from headcats.results.finding import first_names
from headcats.results.suite_text import SUITE_FILE
from headcats.results.whole_file import check_path

MANIFEST = "manifest.json"
HUB = "hf://"
_JSON = (MANIFEST, SUITE_FILE)
SERIES = "series.json"
"""The file of a series of revisions."""
_NAMED = 5


@dataclass(frozen=True)
class Place:
    """Where results are, and where pages about them go: the folder of the files, and its address.

    The address is as `hc.load` and commands take it: a folder, or `hf://owner/name[@revision]`.
    """

    address: str
    folder: Path

    def __str__(self) -> str:
        return self.address

    @property
    def pages(self) -> Path:
        """Folder for pages: the same, or for results of the hub one of their name in the current directory."""
        name, _, _ = self.address.removeprefix(HUB).partition("@")
        return Path(name.rpartition("/")[2]) if self.on_hub else self.folder

    @property
    def shown(self) -> str:
        """Address without the folders of this machine: the path below the current directory, or the name alone."""
        if self.on_hub:
            return self.address
        folder, here = self.folder.resolve(), Path.cwd()
        return (folder.relative_to(here) if folder.is_relative_to(here) else Path(folder.name)).as_posix()

    @property
    def on_hub(self) -> bool:
        """True if the files are a copy, to be read only."""
        return self.address.startswith(HUB)


def find_place(source: str | os.PathLike[str]) -> Place:
    """Place that a folder or an address names; what is on the hub is fetched into the cache.

    A StorageError where the hub has no such results, they cannot be fetched, or no folder can have that path.
    """
    address = os.fspath(source)
    if not address.startswith(HUB):
        check_path(Path(address))
        return Place(address, Path(address))
    # Takes a quarter of a second, which readers of folders need not wait.
    from headcats.base.hub import HubProblem, fetch_snapshot

    name, _, revision = address.removeprefix(HUB).partition("@")
    try:
        folder, _ = fetch_snapshot(
            name,
            kind="dataset",
            revision=revision or None,
            choose=lambda paths: [path for path in paths if belongs(path)],
            first=MANIFEST,
        )
    except HubProblem as problem:
        raise StorageError(f"Could not read {address}: {problem.what}; {problem.advice}.") from None
    if not (folder / MANIFEST).is_file():
        raise StorageError(f"{address} is a data set without {MANIFEST}, so it holds no results of headcats.")
    return Place(address, folder)


def belongs(path: str) -> bool:
    """True if a file, by its path in a results folder, is part of the results: no page, which can be made again."""
    *folders, file = path.split("/")
    hidden = any(part.startswith(".") for part in (*folders, file))
    return not hidden and (file in _JSON or file.endswith(".nc"))


def address_of(path: Path) -> str:
    """The address on the hub that came as a path; "" for any other path."""
    return HUB + "/".join(path.parts[1:]) if path.parts[:1] == (HUB.rstrip("/"),) else ""


def no_results(path: Path) -> str:
    """One or two sentences: what is there instead, and where there are results, beside or inside."""
    if path.is_file():
        return f"{path} is a file; a results folder is a folder."
    if address := address_of(path):
        return (
            f"{address} is on the hub, where this writes nothing: copy it with `headcats merge {address} --out DIR`, "
            "and name the copy."
        )
    if not path.exists():
        beside = {folder.name: str(folder) for folder in _folders(path.parent)}
        near = " or ".join(beside[name] for name in difflib.get_close_matches(path.name, beside, n=3, cutoff=0.6))
        advice = f"Did you mean {near}?" if near else f"Run `headcats run --out {shlex.quote(str(path))}` first."
        return f"{path} is not a results folder: it does not exist. {advice}"
    what = "a series of revisions" if (path / SERIES).is_file() else f"not a results folder (it has no {MANIFEST})"
    if inside := [folder.as_posix() for folder in _folders(path)]:
        return f"{path} is {what}, with results in {first_names(inside, _NAMED)}: name one of these."
    if any(path.glob("blocks/**/*.nc")):
        return f"{path} has blocks, but no {MANIFEST}: repeat the `headcats run` that made them, which takes them up."
    if path.resolve() == Path.cwd():
        return f"{path} is {what}; `headcats run` makes one, in results/mini-icl, which is then to be named here."
    if not _is_empty(path):
        return f"{path} is {what}; name one, or make one with `headcats run --out` and the name of a new folder."
    return f"{path} is {what}; run `headcats run --out {shlex.quote(str(path))}` first."


def _folders(path: Path) -> list[Path]:
    try:
        return sorted(manifest.parent for manifest in path.glob(f"*/{MANIFEST}"))
    except OSError:
        return []


def _is_empty(path: Path) -> bool:
    try:
        return not any(path.iterdir())
    except OSError:
        return False
