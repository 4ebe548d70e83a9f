"""Summaries where a notebook would print a raw dataset; imports nothing heavy, for it runs at `import headcats`."""

import sys
from typing import Any

_TYPES = (("xarray.core.dataset", "Dataset"), ("xarray.core.datatree", "DataTree"))


def show_summaries() -> None:
    """In IPython, show summaries of what headcats made; elsewhere do nothing."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    if shell is not None:
        formatter = shell.display_formatter.formatters["text/html"]
        for module, name in _TYPES:
            formatter.for_type_by_name(module, name, _html)


def _html(data: Any) -> str | None:
    """HTML for IPython: the summary, or what xarray itself shows."""
    from headcats.reports.notebook.summary import summary

    return summary(data) or data._repr_html_()
