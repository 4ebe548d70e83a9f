"""The checker of shapes and types in tests, for pytest's `--jaxtyping-packages=headcats,shape_checker.checker`."""

from collections.abc import Callable
from typing import Any

from beartype import BeartypeConf, beartype

# As type checkers read annotations (PEP 484): a whole number is a float.
_checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
_made: dict[tuple[Any, ...], Callable[..., Any]] = {}


def checker(signature: Callable[..., Any]) -> Callable[..., Any]:
    """What jaxtyping calls with a function that does nothing but has the signature of the one to check.

    Of a function within a function it does so each time the outer one runs, which took a third of all time.
    """
    if signature.__defaults__ or signature.__kwdefaults__ or "<locals>" not in signature.__qualname__:
        return _checked(signature)
    key = (signature.__module__, signature.__qualname__, signature.__code__, repr(signature.__annotations__))
    if key not in _made:
        _made[key] = _checked(signature)
    return _made[key]
