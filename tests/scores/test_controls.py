"""Task-specific effects: the clean donor beside the donor of a second corruption."""

import json
import math

import numpy as np
import pytest
import xarray as xr
from simulated import block, tree

from headcats.base.errors import DataError, OptionError, StatisticsWarning
from headcats.scores.scoring import score

N, SHAPE = 40, (2, 3)
SECOND, OTHER = "second_corruption_patch@last", "other_item_patch@last"


def results(*, wrong: float = 0.5, keys: bool = False, noise: float = 0.02) -> xr.DataTree:
    """Head 0 acts on the task, head 1 removes the wrong task (its wrong donor does the same), the others do nothing."""
    rng = np.random.default_rng(0)
    shared = noise * rng.normal(size=(N, *SHAPE))
    clean, second, item = shared.copy(), shared.copy(), shared.copy()
    clean[:, 0, 0] += 0.4
    item[:, 0, 0] += 0.4
    for one in (clean, second, item):
        one[:, 0, 1] += wrong
    second += noise * rng.normal(size=(N, *SHAPE))
    items = np.arange(N) // 2
    blocks = {"capitals": block(clean, items=items), "plural": block(clean[::-1], items=items)}
    made = tree(blocks, categories={"capitals": "Knowledge", "plural": "Linguistic"})
    for task, turn in (("capitals", 1), ("plural", -1)):
        made[f"{task}/{SECOND}"] = xr.DataTree(block(second[::turn], items=items))
        made[f"{task}/{OTHER}"] = xr.DataTree(block(item[::turn], items=items))
    if keys:
        for task in blocks:
            for label in made[task].children:
                made[f"{task}/{label}"] = xr.DataTree(
                    made[f"{task}/{label}"].to_dataset().assign_coords(key=("prompt", [f"p{i}" for i in range(N)]))
                )
    return made


def test_specific_effects_stand_beside_the_total_ones() -> None:
    scores = score(results(), method="denoising_patch")
    specific = scores["specific_effect"].sel(task="capitals").values
    np.testing.assert_allclose(scores["effect"].sel(task="capitals").values[0, :2], [0.4, 0.5], atol=0.05)
    np.testing.assert_allclose(specific[0, :2], [0.4, 0.0], atol=0.05)
    assert scores["specific_low"].values[0, 0, 0] > 0.3
    # All heads but the first do what the wrong donor does too, so that 95 % of their intervals hold 0.
    held = (scores["specific_low"] <= 0) & (scores["specific_high"] >= 0)
    assert held.values.reshape(2, -1)[:, 1:].sum() >= 7
    # .4^2 of .4^2 + .5^2 are gone with the wrong donor, nothing with the other item.
    np.testing.assert_allclose(scores["task_share"], 0.16 / 0.41, atol=0.05)
    np.testing.assert_allclose(scores["item_share"], 0.0, atol=1e-6)


def test_scoring_the_difference_gives_what_stood_beside_it() -> None:
    total, specific = (score(results(), method="denoising_patch", effect=kind) for kind in ("total", "task_specific"))
    for name in ("effect", "low", "high"):
        np.testing.assert_allclose(specific[name].values, total[f"specific_{name}"].values, rtol=1e-12)
    assert specific.attrs["effect"] == "task_specific"
    assert specific["q_value"].values[0, 0, 0] < 0.05 < specific["q_value"].values[0, 0, 1]
    assert total["q_value"].values[0, 0, 1] < 0.05


def test_prompts_are_matched_by_key() -> None:
    whole = results(keys=True)
    label = f"capitals/{SECOND}"
    kept = [3, 1, *range(4, N)]  # another order, and two prompts without a second corruption
    whole[label] = xr.DataTree(whole[label].to_dataset().isel(prompt=kept))
    scores = score(whole, method="denoising_patch", effect="task_specific")
    assert scores["n"].values.tolist() == [N - 2, N]
    clean = whole["capitals/denoising_patch@last"].to_dataset().isel(prompt=kept)
    second = whole[label].to_dataset()
    expected = (clean["patched"] - second["patched"]).mean(("metric", "prompt"))
    np.testing.assert_allclose(scores["effect"].sel(task="capitals"), expected, atol=1e-12)


def test_a_control_on_other_prompts_says_nothing_of_its_task_alone() -> None:
    whole = results()
    whole[f"capitals/{SECOND}"] = xr.DataTree(whole[f"capitals/{SECOND}"].to_dataset().isel(prompt=slice(0, 5)))
    with pytest.warns(StatisticsWarning, match=r"shared .* on capitals"):
        total = score(whole, method="denoising_patch")
    for name in ("specific_effect", "specific_low", "task_share"):
        assert total[name].sel(task="capitals").isnull().all()
        assert total[name].sel(task="plural").notnull().all()
    assert total["item_share"].notnull().all()
    assert total["effect"].notnull().all()
    with pytest.warns(StatisticsWarning, match=r"^1 tasks .*capitals"):
        specific = score(whole, method="denoising_patch", effect="task_specific")
    assert specific["task"].values.tolist() == ["plural"]
    whole[f"plural/{SECOND}"] = xr.DataTree(whole[f"plural/{SECOND}"].to_dataset().isel(prompt=slice(0, 5)))
    with pytest.raises(DataError, match="shares no prompt"):
        score(whole, method="denoising_patch", effect="task_specific")


@pytest.mark.parametrize("effect", ["total", "task_specific"])
def test_a_control_of_other_heads_is_refused_in_words(effect: str) -> None:
    whole = results()
    whole[f"capitals/{SECOND}"] = xr.DataTree(whole[f"capitals/{SECOND}"].to_dataset().isel(layer=slice(1)))
    with pytest.raises(DataError, match=r"as `layer`.* 0 to 1"):
        score(whole, method="denoising_patch", effect=effect)


@pytest.mark.parametrize(("value", "both"), [(np.nan, True), (np.inf, False)])
@pytest.mark.filterwarnings("error")
def test_numbers_that_are_not_finite_leave_their_head_out(value: float, both: bool) -> None:
    whole = results()
    for label in (SECOND, *(["denoising_patch@last"] if both else [])):
        broken = whole[f"capitals/{label}"].to_dataset().copy(deep=True)
        broken["patched"][0, 3, 1, 2] = value
        whole[f"capitals/{label}"] = xr.DataTree(broken)
    scores, sound = (score(one, method="denoising_patch") for one in (whole, results()))
    for name in ("specific_effect", "specific_low", "specific_high"):
        missing = scores[name].isnull()
        assert missing.values.sum() == 1
        assert missing.sel(task="capitals").values[1, 2]
        # Draws are pooled over heads, so intervals move a little when one is missing.
        np.testing.assert_allclose(scores[name], sound[name].where(~missing), atol=1e-4)
    np.testing.assert_allclose(scores["task_share"], sound["task_share"], atol=0.02)
    specific = score(whole, method="denoising_patch", effect="task_specific")
    assert specific["effect"].isnull().values.sum() == 1


def test_tasks_without_the_control_are_left_out_and_named() -> None:
    whole = results()
    whole = xr.DataTree.from_dict({path: data for path, data in whole.to_dict().items() if path != f"/plural/{SECOND}"})
    with pytest.warns(StatisticsWarning, match=r"^1 tasks .*plural"):
        scores = score(whole, method="denoising_patch", effect="task_specific")
    assert scores["task"].values.tolist() == ["capitals"]
    with pytest.warns(StatisticsWarning, match=r"1 of 2 .*on plural") as caught:
        total = score(whole, method="denoising_patch")
    assert len(caught) == 1
    assert np.isnan(total["specific_effect"].sel(task="plural")).all()
    assert math.isnan(total["task_share"].sel(task="plural"))


def test_without_controls_nothing_is_added_and_the_difference_is_refused() -> None:
    bare = tree({"capitals": block(np.ones((N, *SHAPE)))}, categories={"capitals": "Knowledge"})
    assert not {"specific_effect", "task_share", "item_share"} & set(score(bare, method="denoising_patch"))
    with pytest.raises(DataError, match="second_corruption_patch"):
        score(bare, method="denoising_patch", effect="task_specific")


def test_other_methods_and_other_words_are_refused() -> None:
    whole = results()
    whole["capitals/noising_patch@last"] = xr.DataTree(block(np.ones((N, *SHAPE)), base="clean"))
    whole["plural/noising_patch@last"] = xr.DataTree(block(np.ones((N, *SHAPE)), base="clean"))
    with pytest.raises(OptionError, match="noising_patch has"):
        score(whole, method="noising_patch", effect="task_specific")
    with pytest.raises(OptionError, match="got 'specific'"):
        score(whole, method="denoising_patch", effect="specific")
    assert "specific_effect" not in score(whole, method="noising_patch")


def test_a_task_without_a_gap_has_no_specific_effect() -> None:
    whole = results()
    flat = block(np.random.default_rng(0).normal(size=(N, *SHAPE)), gaps=np.linspace(-1, 1, N), items=np.arange(N) // 2)
    whole["plural/denoising_patch@last"] = xr.DataTree(flat)
    with pytest.warns(StatisticsWarning, match="for plural"):
        scores = score(whole, method="denoising_patch")
    assert np.isnan(scores["specific_effect"].sel(task="plural")).all()
    assert json.loads(scores.attrs["categories"])
