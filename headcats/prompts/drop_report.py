"""What was kept and what was dropped, counted by reason; torch-free."""

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass
class DropReport:
    """Counts of prompts (or words, texts) that were kept, and of those dropped for each reason."""

    kept: int = 0
    """Number kept."""
    dropped: dict[str, int] = field(default_factory=dict)
    """Reason -> number dropped for it."""
    examples: dict[str, str] = field(default_factory=dict)
    """Reason -> the first one dropped for it."""

    def drop(self, reason: str, example: str) -> None:
        """Count one more."""
        self.dropped[reason] = self.dropped.get(reason, 0) + 1
        self.examples.setdefault(reason, example)

    def add(self, other: "DropReport") -> None:
        """Add the counts of another report."""
        self.kept += other.kept
        for reason, count in other.dropped.items():
            self.dropped[reason] = self.dropped.get(reason, 0) + count
            self.examples.setdefault(reason, other.examples[reason])

    @classmethod
    def total(cls, reports: "Iterable[DropReport]") -> "DropReport":
        """The counts of several reports together."""
        total = cls()
        for report in reports:
            total.add(report)
        return total

    def summary(self) -> str:
        """`60 kept; 3 answer of several tokens (e.g. 'France' -> ' Paris')`."""
        drops = [f"{count} {reason} (e.g. {self.examples[reason]})" for reason, count in self.dropped.items()]
        return "; ".join([f"{self.kept} kept", *drops])
