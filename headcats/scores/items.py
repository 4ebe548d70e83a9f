"""Select results by query item: one half to select heads, the other to test them."""

from collections.abc import Callable

import xarray as xr

from headcats.base.errors import DataError
from headcats.results.run_results import RunResults
from headcats.statistics.random_streams import stream


def first_half(item: str, *, seed: int) -> bool:
    """True if a query item is in the first of two random halves, by its text and the seed: the same for every task."""
    return bool(stream(seed, item, "item half").random() < 0.5)


def of_items(results: xr.DataTree, keep: Callable[[str], bool]) -> xr.DataTree:
    """Results of the query items for which `keep` is true, without tasks that have none left."""
    nodes: dict[str, xr.Dataset] = {"/": results.to_dataset()}
    run = RunResults(results)
    for task, labels in run.tasks.items():
        for label in labels:
            block = run.block(task, label)
            if "item" not in block.coords:
                continue
            places = [place for place, item in enumerate(block["item"].values) if keep(str(item))]
            if places:
                nodes.setdefault(f"/{task}", results[task].to_dataset())
                nodes[f"/{task}/{label}"] = block.isel(prompt=places)
    if len(nodes) == 1:
        raise DataError("No prompt is left: none of the query items is kept.")
    return xr.DataTree.from_dict(nodes)
