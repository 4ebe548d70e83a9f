"""What a function says that was handed the results of a whole run in place of one table of them."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import xarray as xr

from headcats.errors import DataError
from headcats.results.label import Label
from headcats.results.manifest import SUITE
from headcats.results.tree import suite_blocks

_TABLE = re.compile(r'hc\.suite_blocks\(results\)\["([^"]+)"\]')


def tables_of(method: str, labels: Iterable[str]) -> list[str]:
    """How the tables of one method over the suite are written, one for each choice of its options that was run.

    Args:
        method: Its name, without options.
        labels: The keys of `hc.suite_blocks`.
    """
    return [f'hc.suite_blocks(results)["{label}"]' for label in labels if Label.parse(label).name == method]


def refuse_results(data: Any, *, by: str, expected: str, table: str) -> None:
    """Refuse results as `hc.load` and `hc.run` return them, a part of them, or what `hc.suite_blocks` makes of them.

    Args:
        data: What the user passed.
        by: Name of the function or figure that reads a table.
        expected: What it reads, e.g. `` `auc` over (layer, role)``.
        table: How to get that from `results`, e.g. `hc.suite_blocks(results)["token_probe"]`. Where the results hold
            that method with options, the message has these.

    Raises:
        DataError: with what was expected and how to get it; for a run's results also the methods whose tables it holds.
    """
    tables: Mapping[Any, Any] | None = None
    if isinstance(data, xr.DataTree):
        kind = "a part of results, an xarray.DataTree"
        if SUITE in data.children or "manifest" in data.attrs:
            kind, tables = "the whole results of a run, an xarray.DataTree", suite_blocks(data)
    elif isinstance(data, Mapping) and data and all(isinstance(entry, xr.Dataset) for entry in data.values()):
        kind, tables = f"a {type(data).__name__} of tables", data
    else:
        return
    contents = ""
    if tables is not None and "suite_blocks" in table:
        labels = [str(label) for label in tables]
        contents = f" Here hc.suite_blocks gives {', '.join(labels) or 'nothing: no joint method was run'}."
        table = _TABLE.sub(lambda match: " or ".join(tables_of(match[1], labels)) or match[0], table)
    raise DataError(f"{by} expects one table, an xarray.Dataset with {expected}; got {kind}. Pass {table}.{contents}")
