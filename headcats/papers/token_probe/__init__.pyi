"""Public names of `hc.papers.token_probe`; `__init__.py` imports each at first use."""

from .across_sets import generalisation as generalisation
from .answered_files import answered_items as answered_items
from .detectors import baselines as baselines
from .error_probes import error_type_probes as error_type_probes
from .items import AnsweredItem as AnsweredItem
from .items import Question as Question
from .items import Resample as Resample
from .resampling import resampled as resampled
from .role_attention import attention_by_role as attention_by_role
from .role_patching import patching_by_role as patching_by_role
from .settings import TokenProbeSettings as TokenProbeSettings
from .taxonomy import error_types as error_types
