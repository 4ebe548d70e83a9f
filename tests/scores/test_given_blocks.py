"""Sweeps of a script, one or several, scored like the results of a run."""

import json
from typing import Any

import numpy as np
import pytest
import xarray as xr
from simulated import block, tree

from headcats.base.errors import DataError, OptionError, StatisticsWarning, UnknownNameError
from headcats.categories.membership import categorize
from headcats.categories.shared import overlap
from headcats.scores.given_blocks import is_blocks
from headcats.scores.scoring import score

N, SHAPE = 24, (2, 3)


@pytest.fixture(autouse=True)
def _unchecked(unchecked_types: None) -> None:
    """What is refused here, CI's type checks would refuse first."""


def blocks() -> dict[str, xr.Dataset]:
    rng = np.random.default_rng(0)
    return {
        name: block(effect + 0.3 * rng.normal(size=(N, *SHAPE)), items=np.arange(N) // 2)
        for name, effect in {"capitals": 0.5, "antonyms": 0.0, "sums": 0.5}.items()
    }


GROUPED = {"capitals": "Knowledge", "antonyms": "Linguistic", "sums": "Knowledge"}


class TestForms:
    def test_categories_of_tasks_are_those_of_a_run(self) -> None:
        given = blocks()
        nested = {
            "Knowledge": {name: given[name] for name in ("capitals", "sums")},
            "Linguistic": {"antonyms": given["antonyms"]},
        }
        found = score(nested)
        expected = score(tree(given, categories=GROUPED), method="denoising_patch").sel(task=found.task.values)
        xr.testing.assert_allclose(found["effect"], expected["effect"])
        xr.testing.assert_allclose(found["raw"], expected["raw"])
        assert found.category.values.tolist() == ["Knowledge", "Knowledge", "Linguistic"]
        listed = json.loads(found.attrs["categories"])
        assert listed == [{"name": "Knowledge", "colour": "#ff7f0e"}, {"name": "Linguistic", "colour": "#2ca02c"}]
        assert (found.attrs["method"], found.attrs["positions"], found.attrs["metric"]) == (
            "denoising_patch", "last", "logit_diff",
        )  # fmt: skip
        with pytest.warns(StatisticsWarning, match="single task"):
            members = categorize(found)
        assert members["size"].sel(category="Knowledge") == 6
        assert overlap(members).observed.dims == ("k",)

    def test_without_categories_each_task_is_one(self) -> None:
        found = score(blocks())
        assert found.task.values.tolist() == found.category.values.tolist() == list(blocks())

    def test_a_category_may_be_written_in_any_case_or_stand_in_the_block(self) -> None:
        given = blocks()
        found = score({"knowledge": {"capitals": given["capitals"]}})
        assert found.category.values.tolist() == ["Knowledge"]
        marked = {name: each.assign_attrs(category=GROUPED[name]) for name, each in given.items()}
        assert score(marked).category.values.tolist() == [GROUPED[name] for name in given]

    def test_one_block_or_a_list(self) -> None:
        given = list(blocks().values())
        assert score(given[0]).task.values.tolist() == ["sweep"]
        assert score(given[:2]).task.values.tolist() == ["sweep 1", "sweep 2"]
        named = [each.assign_attrs(task=name) for name, each in blocks().items()]
        assert score(tuple(named)).task.values.tolist() == list(blocks())
        np.testing.assert_allclose(score(named[0])["effect"][0].values, score(given[0])["effect"][0].values)

    def test_batches_of_one_task_are_joined(self) -> None:
        whole = blocks()["capitals"].assign_attrs(provenance="{}", path="suffix", self_check="passed")
        parts = [whole.isel(prompt=slice(0, 10)), whole.isel(prompt=slice(10, N))]
        xr.testing.assert_allclose(score({"capitals": parts})["effect"], score({"capitals": whole})["effect"])

    def test_a_single_prompt_has_an_effect_and_no_interval(self) -> None:
        found = score(blocks()["capitals"].isel(prompt=[0]))
        assert bool(found.effect.notnull().all())
        assert bool(found.low.isnull().all())
        assert bool((found.p_value == 1).all())


class TestRefused:
    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ("results/mini", "got a str"),
            (np.zeros((4, 2, 3)), r"ndarray .*\(4, 2, 3\).*hc\.as_block"),
            ({}, "an empty dict"),
            ([], "an empty list"),
            ({"a": np.zeros((4, 2, 3))}, r"task 'a' .*hc\.as_block"),
            ({"a": xr.Dataset({"effect": ("x", [1.0])})}, "table of effect"),
            ({"a": []}, "no block"),
            ({"a/b": None}, "without '/'"),
            ({"_a": None}, "begin with '_'"),
        ],
        ids=str,
    )  # fmt: skip
    def test_what_is_no_block(self, given: Any, message: str) -> None:
        with pytest.raises(DataError, match=message):
            score(given)

    def test_a_mixture_of_tasks_and_categories(self) -> None:
        given = blocks()
        with pytest.raises(DataError, match="'Knowledge' holds tasks"):
            score({"Knowledge": {"capitals": given["capitals"]}, "antonyms": given["antonyms"]})
        with pytest.raises(DataError, match="'capitals' is in two"):
            score({name: {"capitals": given["capitals"]} for name in ("a", "b")})

    def test_two_blocks_of_one_task_in_a_list(self) -> None:
        twice = [blocks()["capitals"].assign_attrs(task="capitals")] * 2
        with pytest.raises(DataError, match=r"task 'capitals'.*\[\.\.\.\]"):
            score(twice)

    @pytest.mark.parametrize("changed", [{"method": "mean_ablation"}, {"positions": "all"}])
    def test_several_methods_or_places(self, changed: dict[str, str]) -> None:
        given = blocks()
        given["sums"] = given["sums"].assign_attrs(changed)
        with pytest.raises(DataError, match=r"one method.*sums: "):
            score(given)

    @pytest.mark.parametrize(("dim", "message"), [("position", "position_head"), ("set", "Sets of heads")])
    def test_a_number_for_each_position(self, dim: str, message: str) -> None:
        each = xr.concat([blocks()["capitals"]] * 3, dim, data_vars=["patched"])
        with pytest.raises(DataError, match=f"number for each {dim}.*{message}"):
            score({"capitals": each})
        if dim == "position":  # as the message says
            by_position = score({f"position {value}": each.sel(position=value) for value in range(3)})
            assert by_position.sizes["task"] == 3

    def test_methods_and_metrics_to_choose_from(self) -> None:
        given = blocks()
        results = tree(given, categories=GROUPED)
        assert score(results).attrs["method"] == "denoising_patch"
        for name, each in given.items():
            results[f"{name}/mean_ablation@last"] = xr.DataTree(each.assign_attrs(method="mean_ablation"))
        with pytest.raises(OptionError, match=r"mean_ablation: .* method="):
            score(results)
        other = given["capitals"].assign_coords(metric=["prob"])
        assert score(other).attrs["metric"] == "prob"
        both = xr.concat([other, other.assign_coords(metric=["kl"])], "metric")
        with pytest.raises(OptionError, match=r"prob, kl: .* metric="):
            score(both)
        assert score(both, metric="kl").attrs["metric"] == "kl"
        with pytest.raises(UnknownNameError, match="kl"):
            score(both, metric="rank")


def test_blocks_are_told_from_scores() -> None:
    given = blocks()
    assert is_blocks(given)
    assert is_blocks(list(given.values()))
    assert is_blocks({"a": given})
    assert is_blocks(given["sums"])
    for other in (score(given), {}, [], "text", {"a": score(given)}, tree(given, categories=GROUPED)):
        assert not is_blocks(other)
