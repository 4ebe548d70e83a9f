"""Public names for mkdocstrings, as users reach them: registered items are functions, types are written as imported.

Sources alone do not show them: names are imported at first use, and a method is an object that is called.
"""

import dataclasses
import inspect
import re
import sys
from pathlib import Path
from typing import Any

import griffe

sys.path.insert(0, str(Path(__file__).parent))
from public_names import NAMESPACES, PublicName, public_names

# A type with the module it is from, as the examples import it: `xr.Dataset`, and without a module those of headcats.
_QUALIFIED = re.compile(r"\b(?:[a-z_]\w*\.)+([A-Z]\w*|Any)\b")
_SHORT = {"xarray": "xr.", "pandas": "pd.", "plotly": "go."}
_NAMES = {public.name for public in public_names()}


class PublicNames(griffe.Extension):
    """Puts the public names into the place of what was read from the sources."""

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        """See griffe."""
        words = {name: module.docstring for name, module in pkg.modules.items()}
        pkg.members.clear()
        places: dict[str, griffe.Object] = {"": pkg}
        for public in public_names():
            above, _, name = public.name.rpartition(".")
            if above not in places:  # the namespace itself: such as `papers`
                _place(places, above, words)
            shown = places[public.name] = _shown(name, public)
            places[above].set_member(name, shown)


def _place(places: dict[str, griffe.Object], path: str, words: dict[str, Any]) -> None:
    above, _, name = path.rpartition(".")
    if above not in places:
        _place(places, above, words)
    places[path] = griffe.Module(name, filepath=places[""].filepath, docstring=words.get(path))
    places[above].set_member(name, places[path])


def _shown(name: str, public: PublicName) -> griffe.Object:
    """The name with its words and its signature."""
    words = griffe.Docstring(linked(public.docstring).replace("\nExample:\n", "\nExamples:\n"), parser="google")
    if public.is_class:
        made = griffe.Class(name, docstring=words)
        if dataclasses.is_dataclass(public.item) or issubclass(public.item, tuple) or "\nArgs:\n" in public.docstring:
            signature = inspect.signature(public.item).replace(return_annotation=inspect.Signature.empty)
            made.set_member("__init__", griffe.Function("__init__", parameters=_parameters(signature)))
        shown: griffe.Object = made
    elif public.is_value:
        annotation = inspect.signature(public.function).return_annotation
        shown = griffe.Attribute(name, annotation=_as_imported(annotation), docstring=words)
    else:
        returns = _as_imported(public.signature.return_annotation)
        shown = griffe.Function(name, parameters=_parameters(public.signature), returns=returns, docstring=words)
    words.parent = shown
    return shown


def _parameters(signature: inspect.Signature) -> griffe.Parameters:
    return griffe.Parameters(
        *(
            griffe.Parameter(
                one.name,
                annotation=_as_imported(one.annotation),
                kind=griffe.ParameterKind[one.kind.name.lower()],
                default=None if one.default is one.empty else _default(one.default),
            )
            for one in signature.parameters.values()
        )
    )


def _default(value: Any) -> str:
    """A value as code; of an object, its name."""
    text = repr(value)
    return getattr(value, "__name__", "...") if text.startswith("<") else text


def _as_imported(annotation: Any) -> str | None:
    if annotation is inspect.Signature.empty:
        return None
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return _QUALIFIED.sub(_short, text)


def _short(found: re.Match[str]) -> str:
    package = found[0].partition(".")[0]
    short = _SHORT.get(package, f"{package}.")
    return f"{short}{found[1]}" if short in _SHORT.values() else found[1]


def linked(words: str) -> str:
    """The words with `hc.score` leading to its entry in the reference, outside of code blocks."""
    parts = re.split(r"(^```.*?^```$)", words, flags=re.MULTILINE | re.DOTALL)
    parts[::2] = [re.sub(r"(?<!\[)`hc\.([\w.]+)`(?!\])", _link, part) for part in parts[::2]]
    return "".join(parts)


def _link(found: re.Match[str]) -> str:
    return f"[{found[0]}][headcats.{found[1]}]" if found[1] in _NAMES or found[1] in NAMESPACES else found[0]
