"""The whole test on models whose truth is known."""

import json
import warnings

import numpy as np
import pytest
from specific import study, tasks_of

import headcats as hc
from headcats.errors import DataError, StatisticsWarning
from headcats.evidence.held_out import Options, examine
from headcats.evidence.self_repair import NOT_COMPARABLE
from headcats.evidence.verdicts import INCONCLUSIVE, NOT_SUPPORTED, SUPPORTED


@pytest.fixture(scope="module")
def planted():
    return study()


SHARED = {(layer, 0): 1 for layer in range(3)}


@pytest.fixture(scope="module")
def specific(planted):
    model, held, scores = planted
    return examine(model, held, scores, options=Options())


@pytest.fixture(scope="module")
def shared():
    """The same heads serve every category."""
    model, held, scores = study(SHARED, slots={"Knowledge": (1,), "Linguistic": (1,)})
    return examine(model, held, scores, options=Options())


def reading(found):
    return found.attrs["reading"].splitlines()


def test_heads_of_one_category_alone_support_it_with_the_smallest_p(specific):
    table = specific["specificity"]
    # One head in each of three layers of four: 3 * 3 * 3 other sets.
    assert table["specificity_n_controls"].values.tolist() == [27, 27]
    assert table["specificity_p"].values.tolist() == [1 / 28, 1 / 28]
    # With the tested heads among them there are 4 * 4 * 4 - 1.
    assert table["n_relabelled"].values.tolist() == [63, 63]
    assert table["specificity_exact_p"].values.tolist() == [1 / 64, 1 / 64]
    assert table["verdict"].values.tolist() == [SUPPORTED, SUPPORTED]
    assert (table["specificity"] > 0.3).all()
    assert (abs(table["damage"].sel(category="Knowledge", target="Linguistic")) < 0.2).all()
    first, *_, last = reading(specific)
    for part in ("Knowledge: supported.", "0 of 63", "p = 0.016; only 63", "0 of 27", "p = 0.036; only 27 of the 100"):
        assert part in first
    assert last.startswith("4 verdicts ")
    assert any("Knowledge: ablating" in line for line in reading(specific))


def test_tested_heads_are_the_planted_ones(specific):
    for category, column in (("Knowledge", 0), ("Linguistic", 1)):
        for names in specific["specificity"]["heads"].sel(category=category).values.tolist():
            assert sorted(names.split()) == [f"L{layer}H{column}" for layer in range(3)]


def test_heads_that_serve_everything_support_no_category(shared):
    table = shared["specificity"]
    assert table["verdict"].values.tolist() == [NOT_SUPPORTED] * 2
    assert (table["damage"] > 0.25).all()
    assert (abs(table["specificity"]) < 0.1).all()
    assert reading(shared)[0].startswith("Knowledge: not supported.")


def test_heads_that_matter_everywhere_beat_random_ones_by_chance_alone(shared):
    """Random heads matter for nothing, so p alone would support such a category half of the time."""
    table = shared["specificity"]
    assert table["specificity_p"].min() == 1 / 28
    assert (table["specificity_low"] < 0).all()
    assert "(95 % interval" in reading(shared)[0]
    assert "3 of its 3 tested" in reading(shared)[0]
    assert table["rival"].values.tolist() == ["Linguistic", "Knowledge"]
    np.testing.assert_array_equal(table["advantage"], 0.0)


def test_without_shared_heads_nothing_is_left_of_these(shared):
    table = shared["exclusive"]
    assert table["specificity"].isnull().all()
    assert table["verdict"].values.tolist() == [INCONCLUSIVE] * 2
    assert len(set(table["why"].values)) == 1  # one reason, one line
    assert sum(line.startswith("Knowledge and Linguistic:") for line in reading(shared)) == 1


def test_without_shared_heads_all_is_left_of_those(specific):
    for name in ("damage", "specificity", "specificity_p", "specificity_exact_p"):
        np.testing.assert_array_equal(specific["exclusive"][name], specific["specificity"][name])


def test_curves_end_at_the_joint_damage(specific):
    table, matrix = specific["curves"], specific["specificity"]
    assert table.sizes["k"] == 3
    for category, other in (("Knowledge", "Linguistic"), ("Linguistic", "Knowledge")):
        last = table["damage"].sel(category=category, k=3)
        assert last.sel(side="own").item() == pytest.approx(
            matrix["damage"].sel(category=category, target=category).item()
        )
        assert last.sel(side="others").item() == pytest.approx(
            matrix["damage"].sel(category=category, target=other).item()
        )
        assert (table["damage"].sel(category=category, side="own").diff("k") > 0).all()
        assert (table["random"].sel(category=category, side="own", k=1) < 0.1).all()


def test_shared_words_do_not_explain_the_planted_categories(specific):
    table = specific["contrasts"]
    cell = table.sel(category="Knowledge", other="Linguistic")
    assert cell["own_prompts"].item() == cell["other_prompts"].item() == 60
    assert cell["own_tasks"].item() == "knowledge0,knowledge1,knowledge2"
    assert cell["p"].item() == 1 / 28
    assert cell["difference"].item() == pytest.approx(specific["specificity"]["specificity"].values[0], abs=0.05)
    assert any("On words that" in line for line in reading(specific))


def test_planted_heads_are_not_repaired_and_add_up(specific):
    """There is nothing to repair with: no MLP, and the other heads read the position alone."""
    table = specific["self_repair"]
    np.testing.assert_allclose(table["direct"].isel(place=slice(3)), table["total"].isel(place=slice(3)), atol=0.02)
    assert (table["note"] == "").all()


def test_every_node_can_be_written(specific):
    for name in ("specificity", "exclusive", "contrasts", "curves", "self_repair"):
        assert bytes(specific[name].to_dataset().to_netcdf(engine="h5netcdf"))


def test_the_same_again(specific, planted):
    model, held, scores = planted
    again = examine(model, held, scores, options=Options())
    for name in specific.children:
        assert again[name].to_dataset().identical(specific[name].to_dataset())


# ------------------------------------------------------------------------------------------------------- bad input
def test_a_category_of_one_task_cannot_be_tested_apart_from_it():
    tasks = tasks_of("Knowledge") | {"lonely": "Linguistic"}
    model, held, scores = study(tasks=tasks)
    with pytest.warns(StatisticsWarning, match="single task"):
        found = examine(model, held, scores, options=Options())
    row = found["specificity"].sel(category="Linguistic")
    assert np.isnan(row["damage"].sel(target="Linguistic"))
    assert row["damage"].sel(target="Knowledge").notnull()
    assert "task lonely" in row["why"].item()
    assert row["verdict"].item() == INCONCLUSIVE
    assert found["specificity"]["verdict"].sel(category="Knowledge").item() == SUPPORTED
    # Whether heads of Knowledge are in Linguistic too is not known without its only task.
    alone = found["exclusive"].sel(category="Knowledge")
    assert alone["heads"].sel(task="lonely").item() == ""
    assert alone["heads"].sel(task="knowledge0").item()
    assert "heads of Linguistic" in alone["why"].item()


def test_one_task_of_each_category_has_no_exclusive_heads():
    """On the task of one, the heads of the other look exclusive because the one has no heads left."""
    model, held, scores = study(tasks={"k": "Knowledge", "l": "Linguistic"})
    with pytest.warns(StatisticsWarning, match="single task"):
        found = examine(model, held, scores, options=Options(controls=5))
    assert (found["specificity"]["heads"] != "").any()
    assert (found["exclusive"]["heads"] == "").all()


def test_one_category_alone_has_nothing_to_be_compared_with():
    model, held, scores = study(tasks=tasks_of("Knowledge"))
    found = examine(model, held, scores, options=Options(controls=5))
    assert "no other category" in found["specificity"]["why"].item()
    assert found["contrasts"].sizes == {"category": 1, "other": 1}
    assert found["contrasts"].attrs["why"].endswith("of Knowledge")


def test_too_few_items_for_the_rule_say_so_for_every_category(planted):
    model, held, scores = planted
    few = scores.assign(p_value=scores["p_value"] * 0 + 0.5, smallest_p=scores["smallest_p"] * 0 + 0.5)
    found = examine(model, held, few, options=Options())
    assert found["specificity"]["verdict"].values.tolist() == [INCONCLUSIVE] * 2
    assert "could not call" in reading(found)[0]
    assert len(reading(found)) == 1
    assert found["specificity"]["damage"].isnull().all()
    assert found["curves"].sizes["k"] == 0


@pytest.mark.parametrize("spoilt", ["nothing called", "NaN effects", "no effect at all"])
def test_categories_without_heads_are_said_not_silent(spoilt, planted):
    model, held, scores = planted
    if spoilt == "NaN effects":
        numbers = ["effect", "low", "high", "p_value"]
        scores = scores.assign({name: scores[name].where(scores["category"] != "Knowledge") for name in numbers})
        reason = "it has no task with numbers"
    elif spoilt == "no effect at all":
        scores = scores.assign({name: scores[name] * 0 for name in ("effect", "low", "high")})
        scores["p_value"] = scores["p_value"] * 0 + 1
        reason = "the rule calls no head of it"
    else:
        scores = scores.assign(standard_error=scores["standard_error"] * 0 + 10)
        reason = "the rule calls no head of it (16 undecided)"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)
        found = examine(model, held, scores, options=Options())
    names = "Knowledge" if spoilt == "NaN effects" else "Knowledge and Linguistic"
    assert reading(found)[0].startswith(f"{names}: inconclusive")
    assert reason in reading(found)[0]


def test_tasks_without_a_gap_are_left_out_by_name(planted):
    model, held, scores = planted
    batch = held.batches["knowledge0"][0]
    blind = hc.PromptBatch(**{**vars(batch), "clean": batch.corrupted})
    held = type(held)({**held.batches, "knowledge0": (blind,), "knowledge1": ()}, held.category_of, held.reference)
    found = examine(model, held, scores, options=Options(controls=5))
    left = json.loads(found.attrs["left_out"])
    assert "no clear gap" in left["knowledge0"]
    assert "held-out" in left["knowledge1"]
    assert any(line.endswith(f"not tested: {left['knowledge1']}.") for line in reading(found))
    assert found["specificity"]["n_tasks"].sel(category="Knowledge", target="Knowledge").item() == 1
    with pytest.raises(DataError, match="No task"):
        examine(
            model,
            type(held)(dict.fromkeys(held.batches, ()), held.category_of, held.reference),
            scores,
            options=Options(),
        )


def test_few_controls_are_counted_and_never_enough():
    """One head in one layer of four: three other sets exist."""
    heads = {(0, 0): 1, (0, 1): 2}
    model, held, scores = study(heads)
    found = examine(model, held, scores, options=Options())
    assert found["specificity"]["specificity_n_controls"].values.tolist() == [3, 3]
    assert found["specificity"]["verdict"].values.tolist() == [INCONCLUSIVE] * 2
    assert "3 relabellings within layers" in reading(found)[0]
    assert "only 3 of the 100" in reading(found)[0]


def test_corrupted_prompts_that_show_no_task_leave_no_contrast(planted):
    model, held, scores = planted
    shuffled = {
        task: tuple(
            hc.PromptBatch(**{**vars(batch), "distractor_tasks": ("shuffled_labels",) * len(batch)})
            for batch in batches
        )
        for task, batches in held.batches.items()
    }
    found = examine(model, type(held)(shuffled, held.category_of, held.reference), scores, options=Options(controls=5))
    assert "are shuffled" in found["contrasts"].attrs["why"]
    assert any(line.startswith("No contrast") for line in reading(found))
    assert (found["contrasts"]["note"].values[~np.eye(2, dtype=bool)] != "").all()


def test_the_time_is_said_before_anything_is_measured(caplog, planted):
    model, held, scores = planted
    with caplog.at_level("INFO", logger="headcats"):
        examine(model, held, scores, options=Options(positions="all", controls=5))
    assert "ablations" in caplog.text
    assert "at positions 'all'" in caplog.text


def test_as_many_tasks_as_min_tasks_asks_for_can_be_tested_and_it_is_said(planted):
    model, held, scores = planted
    found = examine(model, held, scores, options=Options(min_tasks=3, positions="all", controls=5))
    assert found["specificity"]["n_tasks"].values.tolist() == [[3, 3], [3, 3]]
    (relaxed,) = (line for line in reading(found) if line.startswith("Knowledge has"))
    assert "min_tasks=3" in relaxed
    assert "min_tasks=2" in relaxed
    assert found["self_repair"]["repaired"].isnull().all()
    assert str(NOT_COMPARABLE) in reading(found)


def test_own_tasks_are_scored_without_themselves(planted):
    """Scores in which a head matters for one task alone: on that task it is not tested."""
    model, held, scores = planted
    odd = scores.copy(deep=True)
    for name in ("effect", "low", "high"):
        odd[name].loc[{"task": "knowledge0", "layer": 3, "head": 3}] = 5.0
    odd["p_value"].loc[{"task": "knowledge0", "layer": 3, "head": 3}] = 1e-4
    with pytest.warns(StatisticsWarning, match="min_tasks=1"):
        found = examine(model, held, odd, options=Options(min_tasks=1, controls=5))
    heads = found["specificity"]["heads"].sel(category="Knowledge")
    assert "L3H3" not in heads.sel(task="knowledge0").item()
    assert heads.sel(task="knowledge1").item().startswith("L3H3")
