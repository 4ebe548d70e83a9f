"""Public names of `hc.papers.function_vector`; `__init__.py` imports each at first use."""

from .ranking import steering_heads as steering_heads
from .settings import SteeringSettings as SteeringSettings
from .steering import steer as steer
