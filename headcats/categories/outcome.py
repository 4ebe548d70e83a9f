"""What became of every head in every category, in words."""

import numpy as np
import xarray as xr

IN, UNDECIDED, OUT, NOT_JUDGED = "in", "undecided", "out", "not judged"


def outcomes(table: xr.Dataset) -> xr.DataArray:
    """Outcome of each head in a table of memberships, in words: its `member`, where there is an `effect`."""
    member = table["member"]
    judged = table["effect"].transpose(*member.dims).notnull()
    words = np.select([~judged, member == 1, member == 0], [NOT_JUDGED, IN, UNDECIDED], OUT)
    return member.copy(data=words)
