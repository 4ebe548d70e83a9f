"""Methods whose code is imported at first use, so that names and declarations cost no torch."""

import functools
import inspect
import pkgutil
from typing import Any

import xarray as xr

from headcats.base.guard import Guard, is_built_in
from headcats.base.registry import register, register_later
from headcats.methods.guarded import check_members, guarded, is_texts
from headcats.results.declaration import Declaration


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
            check_members(guard, method, kind=self.declaration.kind)
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
        if not is_texts(sentences):
            raise guard.refusal("a list of sentences", sentences)
        return sentences

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        return inspect.getdoc(type(self._method))

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
        return guarded(self.name, self._method.__call__, code=self._code)(*args, **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(self._method, name)
        if is_built_in(self._code) or not inspect.isroutine(value):
            return value
        return guarded(self.name, value, code=self._code)


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
