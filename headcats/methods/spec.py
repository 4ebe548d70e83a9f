"""Parse a method with its options, as in `mean_ablation:reference=task@last`."""

from dataclasses import dataclass
from typing import Any

from headcats.errors import OptionError, UnknownNameError
from headcats.methods.options import default_value, read_value
from headcats.registry import lookup, unknown_name_message
from headcats.results.label import Label, format_call


@dataclass(frozen=True)
class MethodSpec:
    """A method, where it acts and with which options."""

    method: Any
    positions: str
    """"last", "all" or a token role; "" for a joint method."""
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
        """Whether this is a joint method."""
        return bool(self.method.declaration.kind == "joint")

    @classmethod
    def parse(cls, text: str) -> "MethodSpec":
        """Parse `name[:option=value,...][@positions]`; the method's defaults fill in the rest.

        Raises:
            UnknownNameError: Unknown method or option.
            OptionError: An invalid value, an option given twice, positions for a joint method, or a method that a
                study cannot run.
        """
        label = Label.parse(text)
        name, positions = label.name, label.positions
        method = lookup("method", name)
        if not hasattr(method, "declaration"):
            raise OptionError(f"Method {name!r} does not score the tasks of a study; call hc.methods.{name} itself.")
        joint = method.declaration.kind == "joint"
        if joint and positions:
            raise OptionError(f"Method {name} takes no positions: write it without @{positions}.")
        options = {}
        for key, text_value in label.options:
            if key not in method.options:
                raise UnknownNameError(unknown_name_message(f"option of {name}", key, method.options))
            value = read_value(method.options[key], text_value, name=key, method=name)
            if value != default_value(method.options[key]):
                options[key] = value
        return cls(method, "" if joint else positions or method.positions, tuple(sorted(options.items())))
