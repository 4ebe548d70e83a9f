"""Scores of single tasks asked of a joint method: the message names the call that reads its table."""

import numpy as np
import pytest
import xarray as xr
from simulated import block, tree

import headcats as hc
from headcats.errors import UnknownNameError


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
        ("ov_relation", "hc.categories.block_members"),
        ("head_gating", "hc.categories.block_members"),
        ("function_probe", "hc.categories.block_members"),
        ("token_probe", "hc.figures.layer_token"),
    ],
)
def test_scores_of_a_joint_method(method: str, reader: str) -> None:
    assert all(text in advice(method, method) for text in (f"{reader}(hc.suite_blocks", f'["{method}"])'))
    assert f'methods=["{method}"]' in advice(method)


def test_the_options_that_were_named_are_in_the_advice() -> None:
    method = "head_gating:preset=chg-mini"
    assert f'methods=["{method}"]' in advice(method)


def test_a_joint_method_of_another_package() -> None:
    assert ' hc.suite_blocks(results)["theirs' in advice("theirs:k=1", "theirs:k=1")
