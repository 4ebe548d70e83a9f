"""Public names of `hc.methods.token_probe`; `__init__.py` imports each at first use."""

from .answers import Question as Question
from .role_attention import attention_by_role as attention_by_role
from .role_patching import patching_by_role as patching_by_role
from .settings import TokenProbeSettings as TokenProbeSettings
