"""The whole test on models whose truth is known."""

import json
from dataclasses import replace

import numpy as np
import pytest
from specific import study, tasks_of

import headcats as hc
from headcats.base.errors import DataError, OptionError
from headcats.evidence.held_out import Options, examine
from headcats.evidence.verdicts import INCONCLUSIVE, NOT_SUPPORTED, SUPPORTED

NODES = ["relabelling", "specificity"]
QUICK = Options(relabellings=19)
TASKS = tasks_of("Knowledge", "Linguistic")


def test_more_relabellings_than_can_be_held() -> None:
    for n in (1_000_001, 10**20, 10**5000, 0, True):
        with pytest.raises(OptionError, match="relabellings must"):
            Options(relabellings=n)


@pytest.fixture(scope="module")
def planted():
    return study()


SHARED = {(layer, 0): 1 for layer in range(3)}


@pytest.fixture(scope="module")
def specific(planted):
    return examine(*planted, options=Options())


@pytest.fixture(scope="module")
def shared():
    """The same heads serve every category."""
    return examine(*study(SHARED, slots={"Knowledge": (1,), "Linguistic": (1,)}), options=Options())


def reading(evidence):
    return evidence.attrs["reading"].splitlines()


def test_heads_of_one_category_alone_support_it_with_the_smallest_p(specific):
    table = specific["relabelling"]
    # 8 choose 4 labellings, each division under both names.
    assert table.sizes["relabelling"] == 34
    assert table["n_possible"] == 35
    assert table["p"].values.tolist() == pytest.approx([1 / 35] * 2)
    assert table["verdict"].values.tolist() == [SUPPORTED, SUPPORTED]
    assert table["size"] <= 0.05
    assert (table["specificity"] > 0.3).all()
    assert (abs(specific["specificity"]["damage"].sel(category="Knowledge", target="Linguistic")) < 0.2).all()
    assert reading(specific)[0].startswith("Knowledge: supported (")


def test_tested_heads_hold_the_planted_ones(specific):
    for category, column in (("Knowledge", 0), ("Linguistic", 1)):
        for names in specific["specificity"]["heads"].sel(category=category).values.tolist():
            assert {f"L{layer}H{column}" for layer in range(3)} <= set(names.split())


@pytest.mark.slow
def test_heads_that_serve_everything_support_no_category(shared):
    assert SUPPORTED not in shared["relabelling"]["verdict"].values.tolist()
    assert (abs(shared["relabelling"]["specificity"]) < 0.15).all()


def test_every_node_can_be_written(specific):
    assert list(specific.children) == NODES
    for name in NODES:
        assert bytes(specific[name].to_dataset().to_netcdf(engine="h5netcdf"))


@pytest.mark.slow
def test_every_node_is_the_same_again(specific, planted):
    again = examine(*planted, options=Options())
    for name in NODES:
        assert again[name].to_dataset().identical(specific[name].to_dataset())


# ------------------------------------------------------------------------------------------------------- bad input
@pytest.mark.parametrize(
    "tasks",
    [
        {"k": "Knowledge", "l": "Linguistic"},
        pytest.param(tasks_of("Knowledge", each=2), marks=pytest.mark.slow),
        pytest.param(tasks_of("Knowledge", "Linguistic", each=3), marks=pytest.mark.slow),
    ],
)
def test_too_few_labellings_give_a_sentence_and_no_verdict(tasks):
    evidence = examine(*study(tasks=tasks), options=Options())
    assert set(evidence["relabelling"]["verdict"].values.tolist()) == {INCONCLUSIVE}
    smallest = evidence["relabelling"]["smallest_p"].item()
    assert smallest > 0.05
    assert "can be labelled in only" in reading(evidence)[0]
    assert f"{smallest:.2g}" in reading(evidence)[0]
    assert not any(f"{name}: " in reading(evidence)[0] for name in set(tasks.values()))


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"source_of": TASKS}, "2 independent sources"),
        ({"grouped": ()}, "2 independent sources"),  # no effect of a head tells its tasks apart
        ({"covariates": {"template": TASKS, "corruption": TASKS}}, "Labels coincide with template and corruption"),
    ],
)
def test_what_cannot_be_told_from_the_labels_is_named_and_no_category_supported(planted, changes, named):
    model, held, halves = planted
    evidence = examine(model, replace(held, **changes), halves, options=QUICK)
    assert set(evidence["relabelling"]["verdict"].values.tolist()) == {INCONCLUSIVE}
    assert named in reading(evidence)[0]


@pytest.mark.slow
def test_categories_of_unequal_numbers_and_one_of_a_single_task():
    tasks = tasks_of("Knowledge", each=8) | {"lonely": "Linguistic"} | tasks_of("Translation", each=3)
    slots = {"Knowledge": (1,), "Linguistic": (2,), "Translation": (2,)}
    evidence = examine(*study(tasks=tasks, slots=slots), options=Options())
    table = evidence["relabelling"]
    assert table["verdict"].sel(category="Knowledge").item() == SUPPORTED
    assert table["verdict"].sel(category="Linguistic").item() == INCONCLUSIVE
    assert any(line.startswith("Linguistic: inconclusive because") and "lonely" in line for line in reading(evidence))
    assert np.isnan(evidence["specificity"]["damage"].sel(category="Linguistic", target="Linguistic"))


def test_what_cannot_be_tested_is_left_out_by_name(planted):
    """No effect in one half or in both, no number, in one half alone, no gap, no prompts."""
    model, held, halves = planted
    first, second = (half.copy(deep=True) for half in halves)
    first["effect"].loc[{"task": ["knowledge2", "linguistic0"]}] = 0
    second["effect"].loc[{"task": "knowledge2"}] = 0
    first["effect"].loc[{"task": "linguistic1"}] = np.nan
    second = second.sel(task=[task for task in second["task"].values if task != "linguistic2"])
    batch = held.batches["knowledge0"][0]
    blind = hc.PromptBatch(**{**vars(batch), "clean": batch.corrupted})
    held = replace(held, batches={**held.batches, "knowledge0": (blind,), "knowledge1": ()})
    evidence = examine(model, held, (first, second), options=QUICK)
    left = json.loads(evidence.attrs["left_out"])
    reasons = {
        "knowledge0": "no clear gap",
        "knowledge1": "n_prompts",
        "knowledge2": "no head",
        "linguistic0": "no head",
        "linguistic1": "unknown",
        "linguistic2": "in one half",
    }
    assert left.keys() == reasons.keys()
    assert [task for task, reason in reasons.items() if reason not in left[task]] == []
    # Heads are alike or not without held-out prompts; without these, there is no damage.
    assert evidence["relabelling"]["task"].values.tolist() == ["knowledge0", "knowledge1", "knowledge3", "linguistic3"]
    assert evidence["specificity"]["n_sources"].sel(category="Knowledge").item() == 1
    for task in left:
        assert any(task in line and "not tested" in line for line in reading(evidence)), task
    with pytest.raises(DataError, match="no head has"):
        examine(model, held, (first.assign(effect=first["effect"] * 0), second), options=QUICK)
    with pytest.raises(DataError, match="No task"):
        examine(model, replace(held, batches=dict.fromkeys(held.batches, ())), halves, options=QUICK)


@pytest.mark.slow
def test_at_all_positions_the_time_is_said_first(caplog, planted):
    with caplog.at_level("INFO", logger="headcats"):
        examine(*planted, options=Options(positions="all", relabellings=19))
    assert "ablations" in caplog.text
    assert "at positions 'all'" in caplog.text


def test_a_category_that_its_tasks_speak_against_is_not_supported(planted):
    """Labels that cut across the planted ones."""
    model, held, halves = planted
    names = [name for place in range(4) for name in (f"knowledge{place}", f"linguistic{place}")]
    crossed = {name: ("Knowledge", "Linguistic")[place // 4] for place, name in enumerate(names)}
    held = replace(held, category_of=crossed)
    verdicts = examine(model, held, halves, options=Options())["relabelling"]["verdict"].values.tolist()
    assert SUPPORTED not in verdicts
    assert NOT_SUPPORTED in verdicts
