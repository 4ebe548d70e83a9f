"""What a paper chose, constant by constant and position by position, beside what is chosen here."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Choice:
    """A constant or a position of a paper, and ours.

    Attributes:
        what: What is chosen, such as "learning rate" or "position of z".
        where: Where the source says so: a section of the paper, or a file of its code.
        paper: The value there.
        ours: The value here; read from the settings where they hold it, so that it cannot drift.
        test: The test that pins ours, such as "tests/papers/<paper>/test_static.py::test_ties".
        why: Why ours is another; "" exactly where both values are equal.
        field: Field of the method's settings that holds ours; "" where none does. Of a method with such rows, every
            field of its settings has one.
    """

    what: str
    where: str
    paper: Any
    ours: Any
    test: str
    why: str = ""
    field: str = ""

    @property
    def same(self) -> bool:
        """Whether ours is the paper's."""
        return bool(self.paper == self.ours)


def differences(choices: tuple[Choice, ...]) -> str:
    """What differs, as one sentence part: `batch size: 32, not 1; ...`; "" where nothing does."""
    return "; ".join(f"{choice.what}: {choice.ours}, not {choice.paper}" for choice in choices if not choice.same)
