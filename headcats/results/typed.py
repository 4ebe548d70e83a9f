"""Records, and values of a JSON file as they hold them; one that does not fit is named by its path."""

import functools
import sys
import types
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from typing import Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

_EXPECTED = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
_LONGEST = 60  # of a value in a message
# Not typing.Self, which the shape checks of the tests refuse outside of a decorated class.
R = TypeVar("R", bound="Record")


class MisfitError(ValueError):
    """A value of another type than its field, or a missing one."""


@dataclass(frozen=True)
class Record:
    """An entry of the manifest."""

    ALWAYS: ClassVar[tuple[str, ...]] = ()
    """Fields that are on disk even where they have their default."""

    @classmethod
    def from_dict(cls: type[R], stored: Mapping[str, Any], *, place: str = "") -> R:
        """Record of an entry on disk; lists become tuples, and keys without a field are left out.

        A MisfitError for a value of another type, or a missing one, names `place`, such as "tasks.plural", and the
        field.
        """
        # mypy doubts that a type is hashable.
        known, before = kinds_of(cls), f"{place}." if place else ""  # type: ignore[arg-type]
        values = {name: fitted(stored[name], kind, before + name) for name, kind in known.items() if name in stored}
        try:
            return cls(**values)
        except TypeError:
            lacking = [each.name for each in fields(cls) if _is_required(each) and each.name not in values]
            raise MisfitError(f"{place or cls.__name__} lacks {', '.join(lacking)}") from None

    def to_dict(self) -> dict[str, Any]:
        """The entry on disk: fields that differ from their defaults, and those of `ALWAYS`."""
        changed = [each.name for each in fields(self) if getattr(self, each.name) != _default(each)]
        return {name: value for name, value in self.complete().items() if name in (*changed, *self.ALWAYS)}

    def complete(self) -> dict[str, Any]:
        """Every field, as it is on disk."""
        return {each.name: plain(getattr(self, each.name)) for each in fields(self)}

    def differences(self: R, second: R, *, names: Iterable[str] | None = None) -> dict[str, tuple[Any, Any]]:
        """Field -> its value in this and in a second record, where they differ; of `names` or of all."""
        first, last = self.complete(), second.complete()
        return {name: (first[name], last[name]) for name in names or first if first[name] != last[name]}


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


@functools.cache
def kinds_of(record: type) -> dict[str, Any]:
    """Name -> type of every field of a dataclass; looked up once: it takes longer than to read the entries."""
    kinds = get_type_hints(record)
    return {each.name: kinds[each.name] for each in fields(record)}


def _default(each: Field[Any]) -> Any:
    return each.default if each.default_factory is MISSING else each.default_factory()


def _is_required(each: Field[Any]) -> bool:
    return each.default is MISSING and each.default_factory is MISSING


def plain(value: Any) -> Any:
    """Lists for tuples, entries for records."""
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {key: plain(entry) for key, entry in value.items()}
    return list(map(plain, value)) if isinstance(value, tuple) else value
