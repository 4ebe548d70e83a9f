"""Comparison of the model of a stored table with that of its manifest."""

import xarray as xr

from headcats.results.records import ModelRecord


def other_model(table: xr.Dataset, model: ModelRecord) -> str:
    """Difference of the model that a table was made on; "" for none that it says."""
    if table.attrs.get("made_on", model.identity) != model.identity:
        return "another model"
    if "patched" not in table or "layer" not in table.coords or not model.layers:
        return ""  # a joint method may read some layers
    return "" if table.variables["layer"].values.tolist() == list(model.layers) else "other layers"
