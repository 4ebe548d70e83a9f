"""The sections of the page, from top to bottom; each is a function that yields its parts."""

from headcats.reports.page.sections.caution import caution, words
from headcats.reports.page.sections.evidence import evidence, robustness
from headcats.reports.page.sections.map import explorer, heads, shared
from headcats.reports.page.sections.methods import methods
from headcats.reports.page.sections.run import run
from headcats.reports.page.sections.summary import summary
from headcats.reports.page.sections.tasks import tasks
from headcats.reports.page.sections.views import views

SECTIONS = (summary, caution, heads, shared, explorer, evidence, robustness, methods, views, tasks, run, words)

__all__ = ["SECTIONS"]
