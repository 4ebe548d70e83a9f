"""The sections of the page, from top to bottom; each is a file that yields its parts."""

from headcats.page.sections.caution import caution
from headcats.page.sections.evidence import evidence
from headcats.page.sections.explorer import explorer
from headcats.page.sections.heads import heads
from headcats.page.sections.methods import methods
from headcats.page.sections.robustness import robustness
from headcats.page.sections.run import run
from headcats.page.sections.shared import shared
from headcats.page.sections.summary import summary
from headcats.page.sections.tasks import tasks
from headcats.page.sections.views import views
from headcats.page.sections.words import words

SECTIONS = (summary, caution, heads, shared, explorer, evidence, robustness, methods, views, tasks, run, words)

__all__ = ["SECTIONS"]
