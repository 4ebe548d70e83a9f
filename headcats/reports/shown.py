"""What templates of pages write of texts: all that they hold is visible, and none of it is markup."""

from typing import Any

from markupsafe import Markup, escape

from headcats.results.visible import visible


def shown(value: Any) -> Any:
    """A value before a template escapes it: its text in one line of visible characters; HTML of ours as it is."""
    return value if isinstance(value, Markup) else visible(str(value))


def shown_lines(text: str) -> Markup:
    """Preformatted text, escaped, on its lines."""
    return escape(visible(text, keep="\n"))
