"""Function-vector heads: ranked by the mean of raw effects, whatever the gaps are."""

import inspect

import numpy as np
import pytest
import xarray as xr
from simulated import block, tree

from headcats.base.errors import OptionError, StatisticsWarning, UnknownNameError
from headcats.papers.function_vector.ranking import ranked, ranked_heads
from headcats.scores.scoring import score

LABEL = "function_vector_patch@last"


def table(raw: object) -> xr.Dataset:
    """Scores of tasks `raw (task, layer, head)`."""
    values = np.asarray(raw, dtype=float)
    return xr.Dataset(
        {"raw": (("task", "layer", "head"), values)},
        coords={
            "task": [f"t{number}" for number in range(len(values))],
            "layer": np.arange(values.shape[1]) + 1,
            "head": np.arange(values.shape[2]),
        },
        attrs={"metric": "prob"},
    )


def test_equals_a_slow_replica() -> None:
    raw = np.random.default_rng(0).normal(size=(5, 3, 4))
    found = ranked(table(raw), 12)
    means = {
        (layer, head): sum(raw[task, layer, head] for task in range(5)) / 5 for layer in range(3) for head in range(4)
    }
    expected = sorted((-mean, layer + 1, head) for (layer, head), mean in means.items())
    assert found["name"].values.tolist() == [f"L{layer}H{head}" for _, layer, head in expected]
    np.testing.assert_allclose(found["effect"], [-mean for mean, *_ in expected])
    assert found["rank"].values.tolist() == list(range(1, 13))
    for rank, (_, layer, head) in enumerate(expected):
        np.testing.assert_array_equal(found["task_effect"][rank], raw[:, layer - 1, head])
    assert found.attrs == {"method": "function_vector_patch", "metric": "prob", "n_tasks": 5, "n_heads": 12}
    short = ranked(table(raw), 3)
    assert short["name"].values.tolist() == found["name"].values[:3].tolist()


def test_the_papers_number_of_heads() -> None:
    # Todd et al. (2024) sum 10 heads of GPT-J.
    assert inspect.signature(ranked_heads).parameters["n"].default == 10


def test_nothing_is_divided_by_the_gap() -> None:
    # Head 0 has the larger share of a small gap, head 1 the larger raw effect.
    differences = {"small": np.zeros((12, 1, 2)), "large": np.zeros((12, 1, 2))}
    differences["small"][:, 0, 0], differences["large"][:, 0, 1] = 0.05, 0.3
    blocks = {
        name: block(values, gaps=np.full(12, 0.05 if name == "small" else 1.0)) for name, values in differences.items()
    }
    results = tree(blocks, categories=dict.fromkeys(blocks, "Knowledge"), name=LABEL)
    scores = score(results, method="function_vector_patch")
    assert scores["effect"].mean("task").argmax("head").item() == 0
    found = ranked(scores, 2)
    assert found["name"].values.tolist() == ["L0H1", "L0H0"]
    np.testing.assert_allclose(found["effect"], [0.15, 0.025])


def test_ties_stand_in_the_order_of_the_layers_and_missing_heads_are_not_ranked() -> None:
    raw = np.full((3, 2, 3), 0.25)
    raw[:, 1, 2] = np.nan
    raw[1, 0, 1] = np.nan  # no number in one task
    found = ranked(table(raw), 4)
    assert found["name"].values.tolist() == ["L1H0", "L1H2", "L2H0", "L2H1"]
    assert found.attrs["n_heads"] == 4
    with pytest.raises(OptionError, match=r"1 to 4, .* 3 tasks; got 5"):
        ranked(table(raw), 5)
    many = ranked(table(np.full((2, 5, 10), 0.25)), 50)
    assert many["name"].values.tolist() == [f"L{layer + 1}H{head}" for layer in range(5) for head in range(10)]


def results_of(metrics: list[str]) -> xr.DataTree:
    """Results of 30 items, in which the first metric is helped by head 0 and each further one by the next."""
    blocks = []
    for place, metric in enumerate(metrics):
        differences = np.zeros((30, 1, 3))
        differences[..., place] = 0.5
        blocks.append(block(differences).assign_coords(metric=[metric]))
    return tree({"t": xr.concat(blocks, "metric")}, categories={"t": "Knowledge"}, name=LABEL)


def test_the_papers_metric_where_the_run_has_it_else_the_first_of_the_run_with_a_word() -> None:
    both = ranked_heads(results_of(["logit_diff", "prob"]), 1)
    assert (both.attrs["metric"], both["name"].item()) == ("prob", "L0H1")
    with pytest.warns(StatisticsWarning, match=r"'kl'.*rank,prob"):
        other = ranked_heads(results_of(["kl", "rank"]), 1)
    assert (other.attrs["metric"], other["name"].item()) == ("kl", "L0H0")
    with pytest.warns(StatisticsWarning, match=r"ranked by 'accuracy'"):
        ranked_heads(results_of(["accuracy"]), 1)
    named = ranked_heads(results_of(["kl", "rank"]), 1, metric="rank")  # asked for, so nothing to warn of
    assert (named.attrs["metric"], named["name"].item()) == ("rank", "L0H1")


def test_what_the_results_do_not_hold_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="logit_diff,prob"):
        ranked_heads(results_of(["logit_diff"]), 2, metric="prob")
    with pytest.raises(UnknownNameError, match="function_vector_patch"):
        ranked_heads(tree({"t": block(np.zeros((8, 1, 2)))}, categories={"t": "Knowledge"}))
