"""What a test, or a fixture that several tests share, registers goes with it."""

from collections.abc import Iterator
from contextlib import contextmanager

from headcats.base import registry


@contextmanager
def same_registry() -> Iterator[None]:
    """Take away at the end what was registered within."""
    before = {kind: dict(table) for kind, table in registry._tables.items()}
    yield
    for kind, table in before.items():
        if registry._tables[kind] != table:
            registry._tables[kind].clear()
            registry._tables[kind].update(table)
