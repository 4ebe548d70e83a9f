"""Categories of relations, handed on to the tables of their checks."""

import xarray as xr


def with_categories(table: xr.Dataset, relations: xr.Dataset) -> xr.Dataset:
    """A table over `task` with the categories and colours of its relations, where `relations` has them."""
    if "category" in relations.coords:
        table = table.assign_coords(category=relations["category"].sel(task=table["task"].values).drop_vars("task"))
    listed = {name: relations.attrs[name] for name in ("categories",) if name in relations.attrs}
    return table.assign_attrs(listed)
