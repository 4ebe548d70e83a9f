"""Public names of `hc.papers.head_gating`; `__init__.py` imports each at first use."""

from .marked_texts import task_texts as task_texts
from .over_seeds import always_any as always_any
from .questions import question_texts as question_texts
from .settings import GatingSettings as GatingSettings
