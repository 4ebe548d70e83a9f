"""Attention views: pages that show where the heads of every category look, on prompts of their tasks.

`write_views` is what makes them. Importing this package loads no model library; reading the attribute does.
"""

from typing import TYPE_CHECKING, Any

__all__ = ["write_views"]

if TYPE_CHECKING:
    from headcats.views.writing import write_views


def __getattr__(name: str) -> Any:
    if name == "write_views":
        from headcats.views.writing import write_views

        return write_views
    raise AttributeError(f"module 'headcats.views' has no attribute {name!r}")
