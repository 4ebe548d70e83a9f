"""Every public name with its docstring: what the reference shows, and whose examples are tested.

Public are the names of `headcats.__all__`, those of its namespaces with everything registered there, the classes
of `headcats.base.errors`, and the public methods and properties of public classes.
"""

import functools
import importlib
import inspect
import re
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import headcats as hc
import headcats.base.errors
from headcats.base import registry

NAMESPACES: dict[str, registry.Kind | None] = {
    "categories": None,
    "evidence": None,
    "methods": "method",
    "papers.ov_relation": None,
    "papers.head_gating": None,
    "papers.function_probe": None,
    "papers.token_probe": None,
    "papers.function_vector": None,
    "papers.retrieval_head": None,
    "metrics": "metric",
    "rules": "rule",
    "figures": "figure",
}
_NO_ITEM = {*NAMESPACES, "errors", "papers", "__version__"}
# Sections of Google docstrings, in the order in which a reader wants them.
_SECTIONS = ("Args", "Attributes", "Returns", "Yields", "Raises", "Warns", "Example", "References")
_SECTION = re.compile(rf"^({'|'.join(_SECTIONS)}):\n((?:[ \t]+.*\n|\n)*)", re.MULTILINE)


@dataclass(frozen=True)
class PublicName:
    """A public name.

    Attributes:
        name: As users write it after `hc.`, such as "score", "rules.fdr" or "PromptBatch.from_tokens".
        item: What it stands for.
        is_member: It is a method or property of a class, whose first parameter nobody gives.
    """

    name: str
    item: Any
    is_member: bool = False

    @property
    def is_class(self) -> bool:
        """It is a class, called to make one of its kind."""
        return inspect.isclass(self.item)

    @property
    def is_value(self) -> bool:
        """It is read, not called: a property."""
        return isinstance(self.item, property | functools.cached_property)

    @property
    def function(self) -> Callable[..., Any]:
        """What runs when it is called or read."""
        item = self.item
        if isinstance(item, property):
            return item.fget  # type: ignore[return-value]
        if isinstance(item, functools.cached_property):
            return item.func
        if isinstance(item, classmethod | staticmethod):
            return item.__func__
        return item

    @property
    def docstring(self) -> str:
        """Its own words; of an object that is called, such as a method of `hc.methods`, those of the call with them."""
        own = inspect.cleandoc(self.item.__doc__ or "")
        called = not (self.is_class or self.is_value or isinstance(self.item, _FUNCTIONS))
        return _joined(own, inspect.cleandoc(type(inspect.unwrap(self.item)).__call__.__doc__ or "")) if called else own

    @property
    def signature(self) -> inspect.Signature:
        """Its parameters, without the first one of a method of a class."""
        function = self.function
        signature = inspect.signature(function)
        if self.is_member and not isinstance(self.item, staticmethod):
            return signature.replace(parameters=list(signature.parameters.values())[1:])
        return signature


_FUNCTIONS = (types.FunctionType, classmethod, staticmethod)


def public_names() -> list[PublicName]:
    """All of them, in the order in which the package lists them, members behind their class."""
    found = [PublicName(name, getattr(hc, name)) for name in hc.__all__ if name not in _NO_ITEM]
    for namespace, kind in NAMESPACES.items():
        module = importlib.import_module(f"headcats.{namespace}")
        names = dict.fromkeys([*module.__all__, *(registry.names(kind) if kind else ())])
        items = {name: getattr(module, name) for name in names}
        found += [PublicName(f"{namespace}.{name}", item) for name, item in items.items() if _has_words(item)]
    found += [
        PublicName(f"errors.{name}", item) for name, item in vars(headcats.base.errors).items() if inspect.isclass(item)
    ]
    return [entry for public in found for entry in (public, *_members(public))]


def _has_words(item: Any) -> bool:
    """An alias of a type, such as `Metric`, has no docstring of its own."""
    return callable(item) and type(item).__module__ not in ("typing", "collections.abc")


def _members(public: PublicName) -> Iterator[PublicName]:
    """Public methods and properties that a public class defines itself."""
    if not public.is_class:
        return
    for name, item in vars(public.item).items():
        if isinstance(item, (*_FUNCTIONS, property, functools.cached_property)) and not name.startswith("_"):
            yield PublicName(f"{public.name}.{name}", item, is_member=True)


def _joined(own: str, call: str) -> str:
    """The words of an object, followed by the sections of its call that it does not have itself."""
    theirs, mine = (dict(_SECTION.findall(words + "\n")) for words in (call, own))
    prose = _SECTION.sub("", own + "\n").rstrip()
    sections = {**theirs, **mine}
    ordered = [f"{title}:\n{sections[title].rstrip()}" for title in _SECTIONS if title in sections]
    return "\n\n".join([prose, *ordered])
