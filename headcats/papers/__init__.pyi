"""The papers; `__init__.py` imports each at first use."""

from . import attribution_patch as attribution_patch
from . import function_probe as function_probe
from . import function_vector as function_vector
from . import head_gating as head_gating
from . import ov_relation as ov_relation
from . import retrieval_head as retrieval_head
from . import token_probe as token_probe
