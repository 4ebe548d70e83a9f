"""What a function says that was handed the results of a whole run in place of one table of them."""

from collections.abc import Mapping
from typing import Any

import xarray as xr

from headcats.errors import DataError
from headcats.results.folder import SUITE
from headcats.results.tree import suite_blocks


def refuse_results(data: Any, *, by: str, expected: str, table: str) -> None:
    """Refuse results as `hc.load` and `hc.run` return them, a part of them, or what `hc.suite_blocks` makes of them.

    Args:
        data: What the user passed.
        by: Name of the function or figure that reads a table.
        expected: What it reads, e.g. `` `auc` over (layer, role)``.
        table: How to get that from `results`, e.g. `hc.suite_blocks(results)["token_probe"]`.

    Raises:
        DataError: with what was expected and how to get it; for a run's results also the methods whose tables it holds.
    """
    held: Mapping[Any, Any] | None = None
    if isinstance(data, xr.DataTree):
        came = "a part of results, an xarray.DataTree"
        if SUITE in data.children or "manifest" in data.attrs:
            came, held = "the whole results of a run, an xarray.DataTree", suite_blocks(data)
    elif isinstance(data, Mapping) and data and all(isinstance(one, xr.Dataset) for one in data.values()):
        came, held = f"a {type(data).__name__} of tables", data
    else:
        return
    there = ""
    if held is not None and "suite_blocks" in table:
        names = ", ".join(map(str, held)) or "nothing: no method over the whole suite was run"
        there = f" Here hc.suite_blocks gives {names}."
    raise DataError(f"{by} expects one table, an xarray.Dataset with {expected}; got {came}. Pass {table}.{there}")
