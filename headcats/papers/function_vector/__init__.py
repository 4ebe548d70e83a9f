"""Function vectors: heads that carry a task, by what their mean output brings back, and what their sum steers."""

from headcats.base.registry import public_names
from headcats.papers.function_vector.patch import function_vector_patch as function_vector_patch

__getattr__, __all__ = public_names(__name__, __file__)


def __dir__() -> list[str]:
    return sorted(__all__)
