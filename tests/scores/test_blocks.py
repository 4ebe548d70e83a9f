"""Scores of single tasks asked of a joint method: the message names the call that reads its table."""

import numpy as np
import pytest
import xarray as xr
from simulated import block, tree

import headcats as hc
from headcats.base.errors import UnknownNameError

pytestmark = pytest.mark.usefixtures("joint_methods")


def advice(method: str, *labels: str) -> str:
    """What `hc.score` says of one causal method's results that also hold an empty table of each joint method."""
    results = tree({"t": block(np.zeros((4, 1, 2)))}, categories={"t": "Knowledge"})
    for label in labels:
        results[f"_suite/{label}"] = xr.DataTree(xr.Dataset(attrs={"label": label}))
    with pytest.raises(UnknownNameError) as error:
        hc.score(results, method=method)
    return str(error.value)


@pytest.mark.parametrize(
    ("method", "reader"),
    [
        ("word_weights", "hc.categorize"),
        ("spoken_probe", "hc.figures.answer_scores"),
    ],
)
def test_scores_of_a_joint_method(method: str, reader: str) -> None:
    assert all(text in advice(method, method) for text in (f"{reader}(hc.suite_blocks", f'["{method}"])'))
    assert f'methods=["{method}"]' in advice(method)


def test_the_options_that_were_named_are_in_the_advice() -> None:
    method = "made_gates:preset=small"
    assert f'methods=["{method}"]' in advice(method)


def test_a_joint_method_of_another_package() -> None:
    assert ' hc.suite_blocks(results)["theirs' in advice("theirs:k=1", "theirs:k=1")
