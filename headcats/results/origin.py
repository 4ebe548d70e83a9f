"""Whether a stored table was made from what its manifest says."""

import xarray as xr

from headcats.results.manifest import Manifest
from headcats.results.records import BlockRecord, ModelRecord


def other_origin(block: xr.Dataset, record: BlockRecord | None, manifest: Manifest) -> str:
    """Difference of what a block was made from and its manifest; "" for none."""
    if record is not None and block.attrs.get("fingerprint", "") != record.fingerprint:
        return "other prompts"
    return other_model(block, manifest.model)


def other_model(table: xr.Dataset, model: ModelRecord) -> str:
    """Difference of the model that a table was made on; "" for none that it says."""
    if not model.matches_model(table.attrs):
        return "another model"
    if "patched" not in table or "layer" not in table.coords or not model.layers:
        return ""  # a joint method may read some layers
    return "" if table.variables["layer"].values.tolist() == list(model.layers) else "other layers"
