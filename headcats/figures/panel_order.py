"""In which order panels stand."""

import json

import xarray as xr

from headcats.errors import DataError
from headcats.tasks.cognitive import FUNCTIONS


def panel_names(values: xr.DataArray, row: str, *, categories: object = None, figure: str) -> list[str]:
    """Labels along `row` in the order of their panels.

    The eight functions stand in the order of their scheme; other names in that of the attribute `categories`, with
    those that it does not list after them as they come.

    Args:
        values: What is drawn.
        row: Its dimension of panels.
        categories: The dataset's attribute `categories`, if it has one: a JSON list of `{"name": ..., "colour": ...}`.
        figure: Name of the figure, for messages.

    Raises:
        DataError: there is no label, or one comes twice.
    """
    labels = [str(label) for label in values[row].values] if row in values.coords else []
    if not labels or len(set(labels)) < len(labels):
        received = ", ".join(labels) or f"{values.sizes[row]} without labels"
        raise DataError(f"{figure} expects distinct labels along `{row}`, one per panel; got {received}.")
    if set(labels) <= set(FUNCTIONS):
        order = list(FUNCTIONS)
    else:
        try:
            order = [str(entry["name"]) for entry in json.loads(str(categories))]
        except (TypeError, KeyError, ValueError):
            order = []
    return [name for name in order if name in labels] + [name for name in labels if name not in order]
