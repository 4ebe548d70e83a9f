"""From word pairs to batches of clean and corrupted tokens."""

from headcats.prompts import template as _templates  # noqa: F401  (registers the templates)
from headcats.prompts.pair import PromptPair, SecondCorruption, Span
from headcats.prompts.template import Template

__all__ = ["PromptPair", "SecondCorruption", "Span", "Template"]
