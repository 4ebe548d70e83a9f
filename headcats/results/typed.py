"""Values of a JSON file as typed records hold them; one that does not fit is named by its path."""

import sys
import types
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin

_EXPECTED = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
_LONGEST = 60  # of a value in a message


class MisfitError(ValueError):
    """A value of another type than its field, or a missing one."""


def fitted(value: Any, kind: Any, place: str) -> Any:
    """Value of JSON as a field of type `kind` holds it: lists become tuples, objects records.

    A MisfitError names the `place`, such as "tasks.plural.accuracy", the expected type and the value.
    """
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin in (Union, types.UnionType):
        (other,) = (each for each in inner if each is not types.NoneType)
        return None if value is None else fitted(value, other, place)
    if origin is Literal:
        if value not in inner:
            raise _misfit(value, place, f"one of {', '.join(map(repr, inner))}")
        return value
    if origin is tuple:
        entries = _checked(value, list, place, "a list")
        return tuple(fitted(entry, inner[0], f"{place}[{number}]") for number, entry in enumerate(entries))
    if hasattr(kind, "from_dict"):
        return kind.from_dict(_checked(value, dict, place, "an object"), place=place)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        entries = _checked(value, dict, place, "an object")
        return {name: fitted(entry, inner[1], f"{place}.{name}") for name, entry in entries.items()}
    if kind is float and type(value) is int and abs(value) <= sys.float_info.max:
        return value
    if kind is int and isinstance(value, bool):
        raise _misfit(value, place, _EXPECTED[kind])
    return _checked(value, kind, place, _EXPECTED[kind])


def _checked(value: Any, kind: Any, place: str, expected: str) -> Any:
    if not isinstance(value, kind):
        raise _misfit(value, place, expected)
    return value


def _misfit(value: Any, place: str, expected: str) -> MisfitError:
    shown = repr(value)
    shown = shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 3]}..."
    return MisfitError(f"{place} must be {expected}; got {shown}")
