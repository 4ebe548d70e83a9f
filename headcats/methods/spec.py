"""Options of methods: one of several names, or a whole number; and methods with their options, from text."""

from dataclasses import dataclass
from typing import Any

from headcats.base.errors import OptionError, UnknownNameError, check_count, unknown_name_message
from headcats.base.registry import lookup
from headcats.results.label import Label, format_call


@dataclass(frozen=True)
class WholeNumber:
    """An option that takes a whole number from `least` to `most`, by default more than any run could finish."""

    default: int
    least: int = 0
    most: int = 100_000


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


def check_whole(option: WholeNumber, value: Any, *, name: str, method: str) -> int:
    """`value`; raises OptionError unless it is a whole number that the option takes."""
    check_count(f"Option {name!r} of {method}", value, least=option.least, most=option.most)
    return int(value)


@dataclass(frozen=True)
class MethodSpec:
    """A method, where it acts and with which options."""

    method: Any
    positions: str
    """"last", "answer", "all" or a token role; "" for a joint method."""
    options: tuple[tuple[str, str | int], ...] = ()
    """(name, value) pairs that differ from the method's defaults, sorted."""

    @property
    def name(self) -> str:
        """The method with its options, as `hc.score(method=...)` takes it."""
        return format_call(self.method.name, self.options)

    @property
    def label(self) -> str:
        """`name@positions`, the name of a block; the name alone for a joint method."""
        return str(Label(self.name, positions=self.positions))

    @property
    def is_joint(self) -> bool:
        """True if this is a joint method."""
        return bool(self.method.declaration.kind == "joint")

    @classmethod
    def parse(cls, text: str) -> "MethodSpec":
        """Parse `name[:option=value,...][@positions]`; the method's defaults fill in the rest.

        Raises:
            UnknownNameError: Unknown method or option.
            OptionError: An invalid value, an option given twice, positions for a joint method, "each" position, or a
                method that a study cannot run.
        """
        label = Label.parse(text)
        name, positions = label.name, label.positions
        method = lookup("method", name)
        if not hasattr(method, "declaration"):
            raise OptionError(f"Method {name!r} does not score the tasks of a study; call hc.methods.{name} itself.")
        joint = method.declaration.kind == "joint"
        if joint and positions:
            raise OptionError(f"Method {name} takes no positions: write it without @{positions}.")
        if positions == "each":
            raise OptionError(
                f"A study scores every head at one place, so it cannot run {text!r}: for position x head, call "
                f"hc.sweep(model, batch, {name!r}, positions='each') on hc.task_prompts(...)."
            )
        options = {}
        for key, text_value in label.options:
            if key not in method.options:
                raise UnknownNameError(unknown_name_message(f"option of {name}", key, method.options))
            value = read_value(method.options[key], text_value, name=key, method=name)
            if value != default_value(method.options[key]):
                options[key] = value
        return cls(method, "" if joint else positions or method.positions, tuple(sorted(options.items())))
