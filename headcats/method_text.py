"""How a method is written: `name[:option=value,option=value][@positions]`. Loads nothing, so that all may read it."""

from dataclasses import dataclass

from headcats.errors import OptionError


@dataclass(frozen=True)
class MethodText:
    """A method as it was written; whether it exists and takes these options is not looked at.

    Attributes:
        name: The method.
        options: Option -> value, as texts, in the order written.
        positions: Where it acts; "" where nothing is said.
    """

    name: str
    options: dict[str, str]
    positions: str

    def __str__(self) -> str:
        listed = ",".join(f"{key}={value}" for key, value in self.options.items())
        return f"{self.name}{':' if listed else ''}{listed}{'@' if self.positions else ''}{self.positions}"

    @classmethod
    def read(cls, text: str) -> "MethodText":
        """Take a text apart.

        Raises:
            OptionError: An option is given twice.
        """
        rest, _, positions = str(text).partition("@")
        name, _, listed = rest.partition(":")
        options: dict[str, str] = {}
        for part in filter(None, listed.split(",")):
            key, _, value = (word.strip() for word in part.partition("="))
            if key in options:
                raise OptionError(f"Option {key!r} of {name.strip()} is given twice.")
            options[key] = value
        return cls(name.strip(), options, positions.strip())
