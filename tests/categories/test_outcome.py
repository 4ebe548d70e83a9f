import numpy as np
import xarray as xr

from headcats.categories.outcome import IN, NOT_JUDGED, OUT, UNDECIDED, outcomes


def test_every_outcome_has_its_word():
    axes = ("category", "layer", "head")
    table = xr.Dataset(
        {
            "member": (axes, np.array([[[1, 0, -1, 0]]], dtype=np.int8)),
            "effect": (axes[::-1], np.array([0.5, 0.1, 0.0, np.nan])[:, None, None]),
        }
    )
    assert outcomes(table).dims == axes
    assert outcomes(table).values.tolist() == [[[IN, UNDECIDED, OUT, NOT_JUDGED]]]
