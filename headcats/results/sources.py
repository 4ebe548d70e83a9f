"""Where the model and the suite of results are loaded from: names, or paths from the results folder."""

import os
from pathlib import Path

from headcats.base.errors import OptionError
from headcats.results.records import ModelRecord

_BUNDLED = ("mini", "mini-cognitive")


def stored_source(source: str, results: Path | None) -> str:
    """Source as results keep it: a name as it is, a path from the folder `results` (None: in memory, absolute)."""
    if results is None or not os.path.isabs(source):
        return source
    try:
        return _as_path(os.path.relpath(source, results.resolve()))
    except ValueError:  # another drive of Windows
        return source


def moved_source(source: str, before: Path, after: Path) -> str:
    """A source that one results folder keeps, as another one does."""
    is_relative = _is_path(source) and not os.path.isabs(source)
    return stored_source(os.path.normpath(before.resolve() / source), after) if is_relative else source


def located(source: str, results: Path) -> str:
    """A source that results keep, with a path from the current directory."""
    if not _is_path(source):
        return source
    path = os.path.normpath(results.resolve() / source)
    try:
        return _as_path(os.path.relpath(path))
    except ValueError:
        return path


def source_of(record: ModelRecord, results: Path) -> str:
    """Argument of `hc.load_model` that loads the model of results again.

    An OptionError if they do not say where it is, or it is gone. Its name is not sent to the hub: it may be private.
    """
    if not record.source:
        problem = f"These results do not say where their model {record.name!r} was loaded from"
    elif _is_path(record.source) and not (results.resolve() / record.source).exists():
        problem = f"The model of these results was loaded from {located(record.source, results)!r}, which is not there"
    else:
        return located(record.source, results)
    raise OptionError(f"{problem}: name it with --model path/to/folder (or load it yourself and pass it).")


def is_bundled(record: ModelRecord) -> bool:
    """True if a model comes with headcats."""
    return record.name in _BUNDLED and record.revision is None


def shown_source(source: str) -> str:
    """A source as it may be shown to others: of a path the last part alone."""
    return f"./{Path(source).name}" if _is_path(source) else source


def public_source(source: str) -> str:
    """A source that means the same on every machine; "" for a folder."""
    return "" if _is_path(source) else source


def _is_path(source: str) -> bool:
    return source.startswith(".") or os.path.isabs(source)


def _as_path(path: str) -> str:
    """A relative path that is not taken for a name."""
    return path if _is_path(path) else os.path.join(".", path)
