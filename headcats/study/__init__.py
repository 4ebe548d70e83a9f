"""A study: tasks x methods on one model, into a results folder."""

from headcats.study.plan import Study, plan
from headcats.study.runner import DEFAULT_METHODS, DEFAULT_PROMPTS, run
from headcats.study.validation import validate

__all__ = ["DEFAULT_METHODS", "DEFAULT_PROMPTS", "Study", "plan", "run", "validate"]
