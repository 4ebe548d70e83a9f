"""The tabs of the page and their sections, each a function that yields its parts."""

from headcats.reports.page.sections.caution import caution, words
from headcats.reports.page.sections.evidence import evidence, robustness
from headcats.reports.page.sections.heads import heads
from headcats.reports.page.sections.methods import methods
from headcats.reports.page.sections.run import run
from headcats.reports.page.sections.sharing import explorer, shared
from headcats.reports.page.sections.tasks import tasks
from headcats.reports.page.sections.views import views

TABS = {
    ("tab-heads", "Heads"): (heads,),
    ("tab-sharing", "Sharing"): (shared,),
    ("tab-real", "Is it real?"): (caution, evidence, robustness),
    ("tab-attention", "Attention"): (views,),
    ("tab-tasks", "Tasks"): (explorer, tasks),
    ("tab-method", "Method and repeat"): (run, methods, words),
}
"""Address and title -> sections from top to bottom."""

__all__ = ["TABS"]
