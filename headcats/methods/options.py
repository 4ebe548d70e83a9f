"""Which values an option of a method takes: one of some names, or a whole number."""

from dataclasses import dataclass

from headcats.errors import OptionError


@dataclass(frozen=True)
class WholeNumber:
    """An option that takes a whole number.

    Attributes:
        default: Its value when it is not named.
        least: The smallest value allowed.
    """

    default: int
    least: int = 0


Option = tuple[str, ...] | WholeNumber
"""The names that the option takes, the default first; or a whole number."""


def default_value(option: Option) -> str | int:
    """The value of an option that is not named."""
    return option.default if isinstance(option, WholeNumber) else option[0]


def read_value(option: Option, text: str, *, name: str, method: str) -> str | int:
    """The value that a text stands for.

    Raises:
        OptionError: The option does not take it; the message says what it takes.
    """
    if isinstance(option, WholeNumber):
        return check_whole(option, int(text) if _is_whole(text) else text, name=name, method=method)
    if text not in option:
        raise OptionError(f"Option {name!r} of {method} takes {', '.join(map(repr, option))}; got {text!r}.")
    return text


def check_whole(option: WholeNumber, value: object, *, name: str, method: str) -> int:
    """`value`, refused unless it is a whole number that the option takes.

    Raises:
        OptionError: It is not.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < option.least:
        raise OptionError(
            f"Option {name!r} of {method} takes a whole number of at least {option.least}; got {value!r}."
        )
    return value


def _is_whole(text: str) -> bool:
    # int() takes more than a user means ("1_0", digits of other scripts), and refuses thousands of digits.
    return text.isascii() and text.removeprefix("-").isdigit() and len(text) < 10
