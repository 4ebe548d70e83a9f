"""Tasks, their word tables and suites."""

from headcats.tasks import (  # noqa: F401  (they register their tasks and suites)
    agreement,
    algorithmic,
    bundled,
    cognitive,
    greater_than,
    induction,
    ioi,
    word_relations,
)
