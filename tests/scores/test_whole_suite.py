"""Scores of single tasks asked of a method over the whole suite: the message names the call that reads its table."""

import re

import numpy as np
import pytest
import xarray as xr
from simulated import block, tree

import headcats as hc
from headcats.errors import UnknownNameError


def results(*labels: str) -> xr.DataTree:
    """Results of one causal method, and an empty table of each method over the suite."""
    made = tree({"t": block(np.zeros((4, 1, 2)))}, categories={"t": "Knowledge"})
    for label in labels:
        made[f"_suite/{label}"] = xr.DataTree(xr.Dataset(attrs={"label": label}))
    return made


@pytest.mark.parametrize(
    ("method", "reader"),
    [
        ("ov_relation", "hc.categories.relation_members"),
        ("head_gating", "hc.methods.head_gating.always_any"),
        ("function_probe", "hc.methods.function_probe.importance_effects"),
        ("token_probe", "hc.figures.layer_token"),
    ],
)
def test_scores_of_a_method_over_the_suite(method: str, reader: str) -> None:
    where = f'Read {reader}(hc.suite_blocks(results)["{method}"]).'
    with pytest.raises(UnknownNameError, match="no scores of single tasks.*" + re.escape(where)):
        hc.score(results(method), method=method)
    with pytest.raises(UnknownNameError, match=f"'{method}' judges heads over the whole suite.*It was not run"):
        hc.score(results(), method=method)


def test_the_options_that_were_asked_for_are_in_the_advice() -> None:
    advice = re.escape('hc.run(model, methods=["head_gating:preset=chg-mini"], out=...)')
    with pytest.raises(UnknownNameError, match=f"'head_gating' judges heads over the whole suite.*{advice}"):
        hc.score(results(), method="head_gating:preset=chg-mini")


def test_scores_of_a_method_over_the_suite_from_elsewhere() -> None:
    with pytest.raises(UnknownNameError, match=r'Read hc\.suite_blocks\(results\)\["theirs:k=1"\]\.'):
        hc.score(results("theirs:k=1"), method="theirs:k=1")
