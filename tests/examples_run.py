"""Examples of a docstring, run as a reader would type them."""

import doctest
import inspect
import io
from pathlib import Path
from typing import NamedTuple

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Outcome(NamedTuple):
    """What became of the examples of one docstring."""

    lines: int
    complaints: str


class SmallRun(NamedTuple):
    """A run that examples read, and what became of the example that tested its categories."""

    folder: Path
    evidence: Outcome


def parsed(name: str, docstring: str) -> doctest.DocTest:
    """The examples of a docstring, with nothing imported."""
    return doctest.DocTestParser().get_doctest(inspect.cleandoc(docstring), {}, name, None, None)


def outcome_of(name: str, docstring: str) -> Outcome:
    """Run them in the current directory."""
    told = io.StringIO()
    found = doctest.DocTestRunner(optionflags=OPTIONS).run(parsed(name, docstring), out=told.write)
    return Outcome(found.attempted, told.getvalue())
