"""Tasks, their word tables and suites."""

from headcats.tasks import algorithmic, bundled, word_relations  # noqa: F401  (they register their tasks and suite)
