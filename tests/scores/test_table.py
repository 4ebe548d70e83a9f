"""Scores as a table, row by row what the arrays hold."""

import numpy as np
import pytest
from simulated import block, tree

import headcats as hc
from headcats.scores.table import score_table

pytestmark = pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")


@pytest.fixture(scope="module")
def scores():
    rng = np.random.default_rng(0)
    planted = 0.05 * rng.standard_normal((24, 2, 3))
    planted[:, 1, 2] += 0.5
    blocks = {"b": block(planted), "a": block(planted[:16, :, ::-1])}
    return hc.score(tree(blocks, categories={"b": "Knowledge", "a": "Linguistic"}), method="denoising_patch")


def test_a_row_for_every_task_and_head_in_their_order(scores):
    table = score_table(scores)
    about = ["method", "positions", "metric", "category", "independent_source"]
    first = [*about, "task", "layer", "head", "effect", "low", "high", "p_value", "q_value"]
    assert list(table.columns[: len(first)]) == first
    assert table["independent_source"].equals(table["task"])  # of results that do not say
    assert list(zip(table["task"], table["layer"], table["head"], strict=True)) == [
        (task, layer, head) for task in scores.task.values for layer in range(2) for head in range(3)
    ]
    assert set(table.category[table.task == "a"]) == {"Linguistic"}
    assert set(table.method + table.positions + table.metric) == {"denoising_patch" + "last" + "logit_diff"}


def test_every_number_is_that_of_the_scores(scores):
    table = score_table(scores).set_index(["task", "layer", "head"])
    for row, values in table.iterrows():
        cell = scores.sel(dict(zip(("task", "layer", "head"), row, strict=True)))
        for name in ("effect", "low", "high", "p_value", "q_value", "raw", "doubtful", "n", "gap", "reliability"):
            np.testing.assert_equal(values[name], cell[name].item())
    assert not {"resampled", "null_t", "rank", "noise_correlation"} & set(table)
    assert table.index.is_unique


def test_approximated_effects_are_called_so(scores):
    assert "approximation" not in score_table(scores)
    table = score_table(scores.assign_attrs(approximation="first order"))
    assert set(table.approximation) == {"first order"}
