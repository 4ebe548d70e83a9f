"""A study: tasks x methods on one model, into a results folder."""

from headcats.study.evidence_run import run_evidence
from headcats.study.plan import Study, plan
from headcats.study.prompts_of_task import task_prompts
from headcats.study.runner import DEFAULT_PROMPTS, run
from headcats.study.validation import validate

__all__ = ["DEFAULT_PROMPTS", "Study", "plan", "run", "run_evidence", "task_prompts", "validate"]
