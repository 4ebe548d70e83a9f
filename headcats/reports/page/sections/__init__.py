"""The sections of the page, from top to bottom; each is a file that yields its parts."""

from headcats.reports.page.sections.caution import caution
from headcats.reports.page.sections.evidence import evidence
from headcats.reports.page.sections.explorer import explorer
from headcats.reports.page.sections.heads import heads
from headcats.reports.page.sections.methods import methods
from headcats.reports.page.sections.robustness import robustness
from headcats.reports.page.sections.run import run
from headcats.reports.page.sections.shared import shared
from headcats.reports.page.sections.summary import summary
from headcats.reports.page.sections.tasks import tasks
from headcats.reports.page.sections.views import views
from headcats.reports.page.sections.words import words

SECTIONS = (summary, caution, heads, shared, explorer, evidence, robustness, methods, views, tasks, run, words)

__all__ = ["SECTIONS"]
