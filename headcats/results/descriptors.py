"""What is known of every head besides its effects: names, units and meanings of the descriptors."""

from typing import NamedTuple

import xarray as xr

DESCRIPTORS_NODE = "_descriptors"
"""Node of the descriptors in results. No task can have this name."""
DESCRIPTORS_FILE = "descriptors.nc"
_OF_TASKS = ["direct_logit", "n_prompts"]


class Descriptor(NamedTuple):
    """A descriptor; `meaning` is what it measures, in a line."""

    label: str
    unit: str
    meaning: str


_SHARE = "share of attention"
DESCRIPTORS = {
    "previous_token": Descriptor("previous token", _SHARE, "attention to the token before"),
    "duplicate_token": Descriptor("duplicate token", _SHARE, "attention to the earlier occurrence of the same token"),
    "induction": Descriptor("induction", _SHARE, "attention to the token after the earlier occurrence of the same one"),
    "first_token": Descriptor("first token", _SHARE, "attention to the first token of the sequence"),
    "entropy": Descriptor("entropy", "nats", "entropy of the attention of one token"),
    "distance": Descriptor("distance", "tokens", "how far back attention goes, on average"),
    "copying": Descriptor("copying", "-1 to 1", "sum of the OV circuit's eigenvalues over the sum of their sizes"),
    "direct_logit": Descriptor("direct logit", "logits", "what the head writes for the answer over the distractor"),
}
"""Variable -> what it is, in the order in which they are shown."""


def join_descriptors(first: xr.Dataset, second: xr.Dataset) -> xr.Dataset:
    """Descriptors of one model: the first, and of the second the tasks that it lacks."""
    if "task" not in second.dims:
        return first
    known = first["task"].values.tolist() if "task" in first.dims else []
    added = second[_OF_TASKS].sel(task=[task for task in second["task"].values.tolist() if task not in known])
    if known:
        added = xr.concat([first[_OF_TASKS], added], "task", join="exact", combine_attrs="override")
    others = first.drop_dims("task", errors="ignore")
    return others.assign_coords(added.coords).assign(added.data_vars)
