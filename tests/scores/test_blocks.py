"""Halves of the query items, and scores of single tasks asked of a joint method: the call that reads its table."""

import numpy as np
import pytest
import xarray as xr
from simulated import block, tree

import headcats as hc
from headcats.base.errors import DataError, UnknownNameError
from headcats.scores.blocks import first_half, of_items
from headcats.scores.scoring import score

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
    ("method", "reader"), [("word_weights", "hc.categorize"), ("spoken_probe", "hc.figures.answer_scores")]
)
def test_scores_of_a_joint_method(method: str, reader: str) -> None:
    assert all(text in advice(method, method) for text in (f"{reader}(hc.suite_blocks", f'["{method}"])'))
    assert f'methods=["{method}"]' in advice(method)


def test_the_options_that_were_named_are_in_the_advice() -> None:
    method = "made_gates:preset=small"
    assert f'methods=["{method}"]' in advice(method)


def test_a_joint_method_of_another_package() -> None:
    assert ' hc.suite_blocks(results)["theirs' in advice("theirs:k=1", "theirs:k=1")


def test_a_half_depends_on_the_item_and_the_seed_alone() -> None:
    items = [f"item {i}" for i in range(2000)]
    halves = np.array([first_half(item, seed=0) for item in items])
    assert halves.tolist() == [first_half(item, seed=0) for item in items]
    assert abs(halves.mean() - 0.5) < 0.05
    other = np.array([first_half(item, seed=1) for item in items])
    assert abs((halves == other).mean() - 0.5) < 0.05


def test_the_prompts_of_the_other_items_are_gone_in_every_block() -> None:
    rng = np.random.default_rng(0)
    blocks = {task: block(rng.normal(size=(30, 1, 2)), items=np.arange(30) // 3) for task in ("a", "b")}
    results = tree(blocks, categories={"a": "Knowledge", "b": "Linguistic"})
    kept = of_items(results, lambda item: item == "item 3" or item.endswith("7"))
    for task in ("a", "b"):
        assert set(kept[f"{task}/denoising_patch@last"]["item"].values) == {"item 3", "item 7"}
        np.testing.assert_array_equal(
            kept[f"{task}/denoising_patch@last"]["patched"].values,
            blocks[task]["patched"].isel(prompt=[9, 10, 11, 21, 22, 23]).values,
        )
    assert score(kept, method="denoising_patch")["n_items"].values.tolist() == [2, 2]
    assert kept["a"].attrs["category"] == "Knowledge"


def test_tasks_without_a_prompt_are_dropped_and_nothing_at_all_is_refused() -> None:
    blocks = {"a": block(np.ones((4, 1, 1))), "b": block(np.ones((4, 1, 1)), items=np.arange(4) + 9)}
    results = tree(blocks, categories={"a": "Knowledge", "b": "Linguistic"})
    assert list(of_items(results, lambda item: item in ("item 0", "item 1")).children) == ["a"]
    with pytest.raises(DataError, match="No prompt"):
        of_items(results, lambda item: False)
