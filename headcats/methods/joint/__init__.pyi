"""Public names of `headcats.methods.joint`; `__init__.py` imports each at first use."""

from ...prompts.answered import encode_answered as encode_answered
from ..spec import Option as Option
from .inputs import JointMethod as JointMethod
from .inputs import SuiteInputs as SuiteInputs
