"""Options of methods: one of several names, or a whole number."""

from dataclasses import dataclass

from headcats.errors import OptionError


@dataclass(frozen=True)
class WholeNumber:
    """An option that takes a whole number of at least `least`."""

    default: int
    least: int = 0


Option = tuple[str, ...] | WholeNumber
"""The names that the option takes, the default first; or a whole number."""


def default_value(option: Option) -> str | int:
    """The value of an option that is not given."""
    return option.default if isinstance(option, WholeNumber) else option[0]


def read_value(option: Option, text: str, *, name: str, method: str) -> str | int:
    """The value of an option, parsed; an OptionError that says what it takes, if it does not take the text."""
    if isinstance(option, WholeNumber):
        # int() alone accepts "1_0", digits of other scripts and thousands of digits.
        is_whole = text.isascii() and text.removeprefix("-").isdigit() and len(text) < 10
        return check_whole(option, int(text) if is_whole else text, name=name, method=method)
    if text not in option:
        raise OptionError(f"Option {name!r} of {method} takes {', '.join(map(repr, option))}; got {text!r}.")
    return text


def check_whole(option: WholeNumber, value: object, *, name: str, method: str) -> int:
    """`value`; raises OptionError unless it is a whole number that the option takes."""
    if not isinstance(value, int) or isinstance(value, bool) or value < option.least:
        raise OptionError(
            f"Option {name!r} of {method} takes a whole number of at least {option.least}; got {value!r}."
        )
    return value


def check_at_least(least: float, settings: object, *names: str, of: str = "") -> None:
    """Raises OptionError if one of these fields of the settings of a method is smaller."""
    for name in names:
        if not getattr(settings, name) >= least:
            raise OptionError(f"{name}{of and f' of {of}'} must be at least {least}; got {getattr(settings, name)}.")
