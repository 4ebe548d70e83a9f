"""Public names of `hc.methods.function_vector`; `__init__.py` imports each at first use."""

from .heads import rank_heads as rank_heads
from .prompts import SteeringSettings as SteeringSettings
from .steering import (
    steer as steer,
)
from .steering import (
    steering_heads as steering_heads,
)
