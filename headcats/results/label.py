"""Method labels, `name[:option=value,...][@positions]`: parsed and printed here and nowhere else."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from headcats.base.errors import OptionError
from headcats.results.head_axes import HEAD


@dataclass(frozen=True)
class Label:
    """A method, its options and where it acts, as a study, a results folder or the command line write it.

    Whether the method exists and takes these options is not checked; see `headcats.methods.spec.MethodSpec`.
    """

    name: str
    options: tuple[tuple[str, str], ...] = ()
    """(option, value) pairs as texts, in the order written."""
    positions: str = ""
    """"last", "answer", "all" or a token role; "" for a joint method, or where none is named."""

    def __str__(self) -> str:
        return f"{self.method}@{self.positions}" if self.positions else self.method

    @property
    def method(self) -> str:
        """The name with the options, as `hc.score(method=...)` takes it."""
        return format_call(self.name, self.options)

    @property
    def unit(self) -> str:
        """Unit that it replaces at a time, "head" or "kv_group"."""
        return dict(self.options).get("unit", HEAD)

    def at(self, positions: str) -> "Label":
        """Label of the method at these positions."""
        return replace(self, positions=positions)

    @classmethod
    def parse(cls, text: "str | Label") -> "Label":
        """Parse a label; a `Label` comes back unchanged."""
        if isinstance(text, Label):
            return text
        method, _, positions = text.partition("@")
        name, options = parse_call(method)
        return cls(name, tuple(options.items()), positions.strip())


def parse_call(text: str) -> tuple[str, dict[str, str]]:
    """Parse `name:option=value,...`, as methods and rules are written; an option given twice is an OptionError."""
    name, _, assignments = text.partition(":")
    options: dict[str, str] = {}
    for assignment in filter(None, assignments.split(",")):
        key, _, value = (part.strip() for part in assignment.partition("="))
        if key in options:
            raise OptionError(f"Option {key!r} of {name.strip()} is given twice.")
        options[key] = value
    return name.strip(), options


def format_call(name: str, options: Iterable[tuple[str, object]]) -> str:
    """`name:option=value,...`, the inverse of `parse_call`."""
    assignments = ",".join(f"{key}={value}" for key, value in options)
    return f"{name}:{assignments}" if assignments else name
