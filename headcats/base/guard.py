"""The boundary between headcats and the code that others register.

Every call of a registered item (task, metric, method, rule, figure, suite) goes through its `Guard`. Items of
headcats itself are called as they are: an error in them is a fault of headcats, and copies would cost time. Other
items get copies of what they could write into, and what they raise becomes an `ExtensionError` that names the item.
"""

import ast
import contextlib
import copy
import functools
import inspect
import sys
import textwrap
import traceback
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import PurePath
from types import TracebackType
from typing import Any

from headcats.base.errors import ExtensionError, HeadcatsError, OptionError

_OUT_OF_MEMORY = (
    "can't allocate memory", "not enough memory", "out of memory", "alloc_failed", "insufficient memory",
    "outofmemory", "invalid buffer size",
)  # fmt: skip
_LONGEST = 300  # characters of an error's text
_TABLES = ("xarray", "pandas", "numpy")
# Of decorators that built-in functions have, which keep `__module__`, too.
_AROUND_OURS = ("headcats", "jaxtyping", "torch")

_subject: ContextVar[str] = ContextVar("subject", default="")


@dataclass(frozen=True)
class Guard:
    """Calls the code of one registered item.

    Attributes:
        kind: Kind of item, as a message begins: "Metric".
        name: Its registered name; "" for one without.
        code: The function or class that was registered, or where that is, as `package.module:name`.
    """

    kind: str
    name: str
    code: Any

    def __call__(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Any:
        """Call `function`, a part of the item."""
        if is_built_in(self.code):
            return function(*arguments, **options)
        try:
            return function(*map(copied, arguments), **{name: copied(value) for name, value in options.items()})
        except HeadcatsError:
            raise
        except (Exception, SystemExit) as error:
            if is_out_of_memory(error):
                raise
            raise ExtensionError(f"{self} raised {type(error).__name__}{_on_subject()}: {_text(error)}") from error

    def refusal(self, expected: str, came: Any) -> ExtensionError:
        """The error for a result that is not what was `expected`; `came` is the result, or says what is wrong."""
        came = came if isinstance(came, str) else f"a {type(came).__name__}"
        return ExtensionError(f"{self} must give {expected}; got {came}{_on_subject()}.")

    def __str__(self) -> str:
        place = _place(self.code)
        return f"{self.kind}{f' {self.name!r}' if self.name else ''}{f' ({place})' if place else ''}"


@contextlib.contextmanager
def working_on(subject: str) -> Iterator[None]:
    """Add what is worked on, such as "task 'plural'", to the messages of guards."""
    token = _subject.set(subject)
    try:
        yield
    finally:
        _subject.reset(token)


def is_built_in(code: Any) -> bool:
    """True if code comes with headcats."""
    if isinstance(code, str):
        return code.startswith("headcats.")
    code = _unwrapped(code)
    # A function of somebody else that `functools.wraps` one of ours has our `__module__`.
    written_in = str(getattr(code, "__globals__", {}).get("__name__", "headcats"))
    module = str(getattr(code, "__module__", ""))
    return module.startswith("headcats.") and written_in.partition(".")[0] in _AROUND_OURS


def _unwrapped(code: Any) -> Any:
    """Function that a chain of `functools.partial` calls in the end."""
    while isinstance(code, functools.partial):
        code = code.func
    return code


def source_text(code: Any) -> str:
    """The source of a function or class without its comments; "" of what was not written in a file or notebook."""
    try:
        return ast.unparse(ast.parse(textwrap.dedent(inspect.getsource(_unwrapped(code)))))
    except (OSError, TypeError, SyntaxError):
        return ""


def copied(value: Any) -> Any:
    """Copy arrays, tables and collections, and what has a method `copied` by that; return all else as it is."""
    if isinstance(value, dict):
        return {key: copied(entry) for key, entry in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(copied, value))
    if type(value).__module__.partition(".")[0] in _TABLES:
        return copy.deepcopy(value)
    for name in ("copied", "clone"):  # the second is that of tensors
        if callable(method := getattr(value, name, None)):
            return method()
    return value


def function_name(kind: str, function: Any) -> str:
    """The name under which a decorator registers a function."""
    name = getattr(function, "__name__", "")
    if not callable(function) or not isinstance(name, str) or name in ("", "<lambda>"):
        raise OptionError(f"A {kind} is registered by the name of its function: write `def`; got {function!r:.80}.")
    return name


def is_out_of_memory(error: BaseException) -> bool:
    """True if an error says that memory ran out, on any kind of device."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    # Allocators of CPUs and of Apple's processors, and cuBLAS, have no error class of their own.
    text = _text(error).lower()
    return isinstance(error, RuntimeError) and any(words in text for words in _OUT_OF_MEMORY)


def own_traceback(error: ExtensionError) -> str:
    """The traceback of an item from its own code on, or as `noting_traceback` has noted it elsewhere; else ""."""
    cause, place = error.__cause__, None if error.__cause__ is None else error.__cause__.__traceback__
    while place is not None and _is_ours(place):
        place = place.tb_next
    if cause is None:
        return "".join(getattr(error, "__notes__", ()))
    if place is None:
        return ""
    return "".join(traceback.TracebackException(type(cause), cause, place).format())


def noting_traceback(error: HeadcatsError) -> HeadcatsError:
    """An error that can be sent to another process with the traceback of what an item raised."""
    if isinstance(error, ExtensionError) and (lines := own_traceback(error)):
        error.add_note(lines)
    return error


def _is_ours(place: TracebackType) -> bool:
    module = str(place.tb_frame.f_globals.get("__name__", ""))
    return module.partition(".")[0] in ("headcats", "importlib", "pkgutil")


def _place(code: Any) -> str:
    """Last part of the file and the line where code is defined, "" of what is not written in Python."""
    if isinstance(code, str):
        return code
    code = _unwrapped(code)
    if inspect.isclass(code):
        file = getattr(sys.modules.get(code.__module__), "__file__", None)
        return f"{PurePath(file).name}, {code.__qualname__}" if file else ""
    # Of an object that is called like a function, the class's.
    lines = getattr(code, "__code__", None) or getattr(vars(type(code)).get("__call__"), "__code__", None)
    return f"{PurePath(lines.co_filename).name}:{lines.co_firstlineno}" if lines else ""


def _on_subject() -> str:
    return f" on {_subject.get()}" if _subject.get() else ""


def _text(error: BaseException) -> str:
    try:
        return textwrap.shorten(" ".join(str(error).split()), _LONGEST, placeholder=" …")
    except Exception:  # noqa: BLE001 - their errors are their code, too
        return "an error whose own text cannot be read"
