"""Sentence on what members do."""

from collections.abc import Iterator

from headcats.categories.head_roles import head_roles
from headcats.categories.map_result import MapResult
from headcats.results.finding import Finding, line

_MOST = 4


def roles(result: MapResult, *, most: int = _MOST) -> Iterator[Finding]:
    """Say what members do, where a descriptor is far out; nothing without any."""
    if found := head_roles(result.overlap):
        more = line("answer.more_roles", n=len(found) - most) if len(found) > most else None
        yield line("answer.roles", heads=[line("answer.role", **role._asdict()) for role in found[:most]], more=more)
