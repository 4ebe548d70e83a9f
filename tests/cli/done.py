"""Common arguments of commands, and their outcome: exit code, stdout and stderr."""

import re
from typing import NamedTuple

from counting import SUITE

QUICK = ["--suite", SUITE, "--n-prompts", "12", "--n-demos", "2"]
JOINT_TASKS = "country_capital,capital_country,plural,next_letter"
SMALL_GATES = "made_gates:preset=small"


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """Everything printed, in one line."""
        return " ".join((self.out + self.err).split())

    @property
    def rows(self) -> str:
        """Output on stdout, cells of tables separated by single spaces."""
        return " ".join(self.out.replace("│", " ").split())

    def check_one_message(self, *parts: str) -> None:
        """Exit code 2, one error on stderr, nothing on stdout, no traceback."""
        assert self.code == 2, self
        assert self.out == ""
        assert len(re.findall(r"^Error: ", self.err, re.MULTILINE)) == 1, self.err
        assert "Traceback" not in self.err
        for part in parts:
            assert part in " ".join(self.err.split()), self.err
