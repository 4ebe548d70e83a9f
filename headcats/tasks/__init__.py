"""Tasks, their word tables and suites."""

from headcats.tasks import (  # noqa: F401  (they register their tasks)
    algorithmic,
    cognitive,
    knowledge,
    linguistic,
    sentences,
    translation,
)
