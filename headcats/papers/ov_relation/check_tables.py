"""What the tables of the checks of relations share: contexts, sides, and categories with the order that they give."""

import json

import xarray as xr

CONTEXTS = ("with", "without")
SIDES = ("score", "suppression")


def with_categories(table: xr.Dataset, relations: xr.Dataset) -> xr.Dataset:
    """A table over `task` with the categories and colours of its relations, where `relations` has them."""
    if "category" in relations.coords:
        table = table.assign_coords(category=relations["category"].sel(task=table["task"].values).drop_vars("task"))
    listed = {name: relations.attrs[name] for name in ("categories",) if name in relations.attrs}
    return table.assign_attrs(listed)


def by_category(table: xr.Dataset) -> list[tuple[str, str]]:
    """(category, relation) of every relation of a table, category by category; "" without categories.

    Categories stand in the order of the attribute `categories`, then in that of their first relations.
    """
    tasks = [str(name) for name in table["task"].values]
    kinds = [str(name) for name in table["category"].values] if "category" in table.coords else [""] * len(tasks)
    listed = [str(entry["name"]) for entry in json.loads(table.attrs.get("categories", "[]"))]
    order = list(dict.fromkeys([*listed, *kinds]))
    return sorted(zip(kinds, tasks, strict=True), key=lambda pair: order.index(pair[0]))
