import numpy as np
import pytest
import xarray as xr
from simulated import block, tree

import headcats as hc
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


@pytest.mark.filterwarnings("ignore::headcats.errors.StatisticsWarning")
def test_the_words_are_those_of_the_overlap():
    draw = np.random.default_rng(0)
    blocks = {f"task{place}": block(draw.normal(0.1 * place, 0.1, (12, 2, 6))) for place in range(4)}
    results = tree(
        blocks, categories={name: "Knowledge" if place % 2 else "Linguistic" for place, name in enumerate(blocks)}
    )
    overlap = hc.overlap(hc.categorize(hc.score(results)))
    words = outcomes(overlap)
    assert {*np.unique(words)} >= {IN, UNDECIDED}
    assert ((words == IN) == (overlap["member"] == 1)).all()
    assert ((words == UNDECIDED) == overlap["undecided"]).all()
