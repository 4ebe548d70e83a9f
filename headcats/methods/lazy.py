"""Declared methods: code is imported at first use, and that of others is checked for what it takes and gives."""

import ast
import functools
import importlib.util
import inspect
import json
import numbers
import pkgutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from headcats.base.errors import ExtensionError
from headcats.base.guard import Guard, is_built_in
from headcats.base.registry import register, register_later
from headcats.methods.spec import WholeNumber
from headcats.results.block_schema import block_problem
from headcats.results.declaration import Declaration
from headcats.results.records import BlockRecord
from headcats.results.tables import table_bytes
from headcats.results.typed import MisfitError

if TYPE_CHECKING:
    from headcats.methods.method import TaskInputs


class LazyMethod:
    """A declared method; calling it, and every attribute but `declaration` and `name`, imports its code."""

    def __init__(self, declaration: Declaration, code: str, summary: str) -> None:
        self.declaration = declaration
        self.name = self.__name__ = declaration.name
        self._code, self._summary = code, summary

    @functools.cached_property
    def _method(self) -> Any:
        guard = Guard("Method", self.name, self._code)
        method = guard(guard(pkgutil.resolve_name, self._code))
        if not is_built_in(self._code):
            _check_members(guard, method, kind=self.declaration.kind)
        return method

    @property
    def code(self) -> Any:
        """The class of the method; of one of headcats its name."""
        return self._code if is_built_in(self._code) else type(self._method)

    def summary(self, block: xr.Dataset) -> list[str]:
        """Sentences on a finished block."""
        if not self._summary:
            return []
        guard = Guard("Method", self.name, self._summary)
        sentences: list[str] = guard(guard(pkgutil.resolve_name, self._summary), block)
        if not _are_texts(sentences):
            raise guard.refusal("a list of sentences", sentences)
        return sentences

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        return _class_doc(self._code) if is_built_in(self._code) else inspect.getdoc(type(self._method))

    @property
    def __wrapped__(self) -> Any:
        """The method, whose signature `inspect.signature` and the API pages show."""
        return self._method

    def __repr__(self) -> str:
        return f"<method {self.name}>"

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Call the method with its own arguments."""
        if is_built_in(self._code) or not callable(self._method):
            return self._method(*args, **options)
        inspect.signature(self._method).bind(*args, **options)  # a TypeError that is the caller's
        return _guarded(self.name, self._method.__call__, code=self._code)(*args, **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(self._method, name)
        if is_built_in(self._code) or not inspect.isroutine(value):
            return value
        return _guarded(self.name, value, code=self._code, kind=self.declaration.kind)


def declare(declaration: Declaration, code: str, *, summary: str = "", figure: str = "") -> LazyMethod:
    """Register a method by its declaration.

    Args:
        declaration: What the rest of headcats needs to know of the method.
        code: Its class, as `package.module:Class`.
        summary: Function from a block of a joint method to sentences, as `package.module:name`.
        figure: The figure that the declaration names, as `package.module:name`, unless it is registered elsewhere.

    Returns:
        The registered method, which imports `code` at first use.

    Raises:
        DataError: A name that cannot be one of results or files.

    Example:
        >>> import headcats as hc
        >>> norms = hc.methods.Declaration(name="norms", kind="joint", paper="this notebook")
        >>> hc.methods.declare(norms, "my_package.norms:Norms")
        <method norms>
    """
    if figure:
        register_later("figure", declaration.figure, figure)
    return register("method", declaration.name, LazyMethod(declaration, code, summary))


def _class_doc(path: str) -> str | None:
    """Docstring of `package.module:Class`, read from the source: a listing of methods loads no torch."""
    module, _, name = path.partition(":")
    spec = importlib.util.find_spec(module)
    source = Path(spec.origin).read_text(encoding="utf-8") if spec and spec.origin else ""
    classes = (node for node in ast.parse(source).body if isinstance(node, ast.ClassDef))
    return next((ast.get_docstring(node) for node in classes if node.name == name), None)


_DIMS = ("metric", "prompt", "layer", "head")
# Members without which nothing can be run, by kind of method; `headcats.methods.method` describes them.
_MEMBERS = {
    "task": ("options", "on_part", "positions", "memory_plan", "announce"),
    "joint": ("options", "on_part", "parts", "join"),
}


def _check_members(guard: Guard, method: Any, *, kind: str) -> None:
    """An ExtensionError for a method that lacks what every method of its kind has, or has something else there."""
    members = {name: guard(getattr, method, name, None) for name in _MEMBERS.get(kind, ())}
    if lacking := [name for name, member in members.items() if member is None]:
        raise ExtensionError(f"{guard} lacks {', '.join(lacking)}, which a method of kind {kind!r} has.")
    for name, member in members.items():
        expected, fits = _FIELDS.get(name, ("a method", callable))
        if not fits(member):
            raise guard.refusal(f"{expected} as `{name}`", f"{member!r:.80}")


def _are_options(options: Any) -> bool:
    """True if this says what options take, as `headcats.methods.spec.Option` does."""
    return isinstance(options, dict) and all(
        isinstance(name, str) and (isinstance(option, WholeNumber) or (_are_texts(option) and len(option) > 0))
        for name, option in options.items()
    )


# Members that are no methods -> what they are.
_FIELDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "options": ("a dict of the names and values of options", _are_options),
    "positions": ("text such as 'last'", lambda member: isinstance(member, str) and member != ""),
}


def _guarded(method: str, member: Callable[..., Any], *, code: str, kind: str = "") -> Callable[..., Any]:
    """A member of a method of that name, called through its guard, whose result is checked; `code` is the method's."""
    guard = Guard("Method", method, code if is_built_in(member) else member)
    expected, problem = _RESULTS.get(member.__name__, ("", lambda result, *arguments: ""))
    if (member.__name__, kind) == ("on_part", "task"):
        expected, problem = _TASK_BLOCK

    @functools.wraps(member)
    def call(*arguments: Any, **options: Any) -> Any:
        result = guard(member, *arguments, **options)
        if came := problem(result, *arguments):
            raise guard.refusal(f"{expected} by `{member.__name__}`", came)
        return result

    return call


def _are_texts(result: Any) -> bool:
    """True if this is a list of texts, as a summary is."""
    return isinstance(result, list | tuple) and all(isinstance(text, str) for text in result)


def _of_block(result: Any, *arguments: Any) -> str:
    """Problem of the block of a part, or of all parts; "" for none."""
    if not isinstance(result, xr.Dataset):
        return f"a {type(result).__name__}"
    try:
        table_bytes(result)
    except Exception as error:  # noqa: BLE001 - xarray and h5netcdf answer with many types
        return f"what cannot be written ({type(error).__name__}: {error})"
    infinite = [name for name, values in result.items() if values.dtype.kind == "f" and np.isinf(values).any()]
    return f"infinite values of {', '.join(map(str, infinite))}" if infinite else ""


def _of_task_block(result: Any, inputs: "TaskInputs", *arguments: Any) -> str:
    if came := _of_block(result):
        return came
    for name, dims in (("patched", _DIMS), ("clean", _DIMS[:2]), ("corrupted", _DIMS[:2])):
        if name not in result or result[name].dims != dims or result[name].dtype.kind != "f":
            return f"`{name}` over {result[name].dims}" if name in result else f"no `{name}`"
        # Heads that a layer lacks are NaN in every prompt; all others have a number in each.
        missing = result[name].isnull()
        if bool((missing.any(dims[:2]) != missing.all(dims[:2])).any()) or bool(missing.all()):
            return f"NaN in `{name}` of a prompt"
    try:
        provenance = json.loads(result.attrs["provenance"])
        BlockRecord.from_dict({**provenance, "dropped": int(result.attrs["dropped"])})
    except (KeyError, TypeError, ValueError, MisfitError):
        return "no attributes `provenance` (JSON of a dict) and `dropped`"
    return block_problem(result) or _misfit(result, inputs)


def _misfit(block: xr.Dataset, inputs: "TaskInputs") -> str:
    """Problem of a block of other prompts, layers or heads than those of task and model; "" for none."""
    model = inputs.runs[0].model
    heads = [list(range(model.max_heads)), list(range(max(model.n_kv_heads.values())))]  # or groups of them
    for name, labels in (("metric", [list(inputs.metrics)]), ("layer", [list(model.layers)]), ("head", heads)):
        came = block[name].values.tolist() if name in block.coords else None
        if came not in labels:
            return f"the labels {came!r:.60} of `{name}`, not {labels[0]!r:.60}"
    given, dropped = sum(len(runs.batch) for runs in inputs.runs), int(block.attrs["dropped"])
    if block.sizes["prompt"] + dropped != given:
        return f"{block.sizes['prompt']} prompts and {dropped} dropped, of {given}"
    return ""


def _of_parts(result: Any, *arguments: Any) -> str:
    if not isinstance(result, Mapping):
        return f"a {type(result).__name__}"
    wrong = [part for part, tasks in result.items() if not isinstance(part, str) or not _are_texts(tasks)]
    return f"part {wrong[0]!r} of {result[wrong[0]]!r:.80}" if wrong else ""


def _of_plan(result: Any, *arguments: Any) -> str:
    from headcats.sweeps.memory import MemoryPlan  # with torch, which a method that plans has imported

    return "" if result is None or isinstance(result, MemoryPlan) else f"a {type(result).__name__}"


def _of_number(result: Any, *arguments: Any) -> str:
    fits = isinstance(result, numbers.Real) and not isinstance(result, bool) and 0 <= float(result) < np.inf
    return "" if fits else repr(result)[:80]


_TASK_BLOCK = f"a Dataset of `patched` over {_DIMS}, `clean` and `corrupted`, with finite values", _of_task_block
# Member -> what it gives, and what is wrong with a result.
_RESULTS: dict[str, tuple[str, Callable[..., str]]] = {
    "parts": ("a dict of the names of parts and the tasks that each reads", _of_parts),
    "on_part": ("a Dataset without infinite values", _of_block),
    "join": ("a Dataset without infinite values", _of_block),
    "work": ("a finite number of at least 0", _of_number),
    "memory_plan": ("a MemoryPlan or None", _of_plan),
}
