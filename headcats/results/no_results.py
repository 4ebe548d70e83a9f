"""What is wrong with a path that holds no results, and what to do."""

import difflib
import shlex
from pathlib import Path

from headcats.results.finding import first_names
from headcats.results.place import MANIFEST, address_of

SERIES = "series.json"
"""The file of a series of revisions."""
_NAMED = 5


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
