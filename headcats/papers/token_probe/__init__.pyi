"""Public names of `hc.papers.token_probe`; `__init__.py` imports each at first use."""

from .items import AnsweredItem as AnsweredItem
from .items import Question as Question
from .role_patching import patching_by_role as patching_by_role
from .settings import TokenProbeSettings as TokenProbeSettings
