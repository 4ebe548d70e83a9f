"""Results of some query items only: halves to choose heads by and to test them with."""

from collections.abc import Callable

import xarray as xr

from headcats.errors import DataError
from headcats.random_streams import stream
from headcats.results import task_nodes


def first_half(item: str, *, seed: int) -> bool:
    """Whether a query item belongs to the first of two random halves.

    Depends on the item's text and the seed alone: `France` is in the same half in every task that asks about it, so
    what is chosen on one half has not seen the words of the other. Halves are equal in expectation only.
    """
    return bool(stream(seed, item, "item half").random() < 0.5)


def of_items(results: xr.DataTree, keep: Callable[[str], bool]) -> xr.DataTree:
    """The same results without the prompts whose query item `keep` refuses; tasks that are left without any are
    dropped.

    Args:
        results: As `hc.load` returns them.
        keep: Item -> whether its prompts stay.

    Raises:
        DataError: No prompt is left in any task.
    """
    nodes: dict[str, xr.Dataset] = {"/": results.to_dataset()}
    for task, node in task_nodes(results).items():
        for label, child in node.children.items():
            block = child.to_dataset()
            if "item" not in block.coords:
                continue
            kept = [place for place, item in enumerate(block["item"].values) if keep(str(item))]
            if kept:
                nodes.setdefault(f"/{task}", node.to_dataset())
                nodes[f"/{task}/{label}"] = block.isel(prompt=kept)
    if len(nodes) == 1:
        raise DataError("No prompt is left: none of the query items is kept.")
    return xr.DataTree.from_dict(nodes)
