"""How a study names a method with its options: `mean_ablation`, `mean_ablation:reference=task@last`."""

from dataclasses import dataclass
from typing import Any

from headcats.errors import OptionError, UnknownNameError
from headcats.method_text import MethodText
from headcats.methods.options import default_value, read_value
from headcats.registry import lookup, unknown_name_message


@dataclass(frozen=True)
class MethodSpec:
    """A method, where it acts and with which options.

    Attributes:
        method: The registered method.
        positions: "last", "all" or a token role; "" for a method that judges heads over the whole suite.
        options: (name, value) pairs that differ from the method's defaults, sorted.
    """

    method: Any
    positions: str
    options: tuple[tuple[str, str | int], ...] = ()

    @property
    def name(self) -> str:
        """The method with its options, as `hc.score(method=...)` takes it."""
        return self.method.name + (
            ":" + ",".join(f"{key}={value}" for key, value in self.options) if self.options else ""
        )

    @property
    def label(self) -> str:
        """`name@positions`, the name of a block; the name alone for a method over the whole suite."""
        return f"{self.name}@{self.positions}" if self.positions else self.name

    @property
    def of_suite(self) -> bool:
        """Whether the method judges heads over all tasks at once."""
        return self.method.scope == "suite"

    @classmethod
    def parse(cls, text: str) -> "MethodSpec":
        """Read `name[:option=value,...][@positions]`; what is not given is the method's default.

        Raises:
            UnknownNameError: Unknown method or option.
            OptionError: A value that the option does not take, an option given twice, positions for a method that has
                none, or a method that a study cannot run.
        """
        written = MethodText.read(text)
        name, positions = written.name, written.positions
        method = lookup("method", name)
        scope = getattr(method, "scope", None)
        if scope not in ("task", "suite"):
            raise OptionError(f"Method {name!r} does not score the tasks of a study; call hc.methods.{name} itself.")
        if scope == "suite" and positions:
            raise OptionError(f"Method {name} takes no positions: write it without @{positions}.")
        options = {}
        for key, value in written.options.items():
            if key not in method.options:
                raise UnknownNameError(unknown_name_message(f"option of {name}", key, method.options))
            read = read_value(method.options[key], value, name=key, method=name)
            if read != default_value(method.options[key]):
                options[key] = read
        where = "" if scope == "suite" else positions or method.positions
        return cls(method, where, tuple(sorted(options.items())))
