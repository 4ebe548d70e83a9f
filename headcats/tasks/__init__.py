"""Tasks, their word tables and suites."""

from headcats.tasks import (  # noqa: F401  (they register their tasks)
    agreement,
    algorithmic,
    cognitive,
    greater_than,
    induction,
    ioi,
    knowledge,
    linguistic,
    sentences,
    translation,
)
