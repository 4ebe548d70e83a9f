"""Findings by their identifier."""

from collections.abc import Iterable

from headcats.results.finding import Finding


def by_id(findings: Iterable[Finding]) -> dict[str, Finding]:
    """Identifier -> the last finding that has it."""
    return {finding.id: finding for finding in findings}
