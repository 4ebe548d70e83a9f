"""Objects of the user's own code, by `module:name` or `path/to/file.py:name`."""

import functools
import importlib
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from headcats.base.errors import DataError, HeadcatsError
from headcats.results.whole_file import regular


def load_object(source: str) -> tuple[Any, str]:
    """The object, and where it is: as `source`, with the full path of a file. A file is run once, until it changes."""
    place, _, name = source.rpartition(":")
    try:
        if place.endswith(".py"):
            place = os.path.abspath(place)
            module = _run(place, regular(Path(place)).stat().st_mtime_ns)
        else:
            module = importlib.import_module(place)
        return getattr(module, name), f"{place}:{name}"
    except HeadcatsError:
        raise
    except FileNotFoundError as error:
        reason = f"there is no file {error.filename}"
    except ModuleNotFoundError as error:
        reason = f"there is no module {error.name!r} (a file is written as path/to/file.py:name)"
    except AttributeError as error:
        reason = str(error)
    except Exception as error:  # whatever the user's code raises
        raise DataError(f"{source!r} cannot be loaded: {type(error).__name__}: {error}.") from error
    raise DataError(f"{source!r} cannot be loaded: {reason}. Expected module:name or path/to/file.py:name.")


@functools.cache
def _run(path: str, written: int) -> ModuleType:
    """The file as a module; it may import its neighbours."""
    module = ModuleType(Path(path).stem)
    module.__file__ = path
    sys.path.insert(0, os.path.dirname(path))
    try:
        exec(compile(Path(path).read_bytes(), path, "exec"), module.__dict__)
    finally:
        sys.path.remove(os.path.dirname(path))
    return module
