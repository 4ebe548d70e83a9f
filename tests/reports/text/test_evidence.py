"""What is said of the result of `evidence`."""

import json

import pytest
import xarray as xr
from specific import study

from headcats.cli.console import tell
from headcats.evidence.held_out import Options, examine
from headcats.reports.text.evidence import evidence_findings

OPTIONS = {"effect": "total", "method": "denoising_patch@last", "metric": "logit_diff", "n_prompts": 16}


@pytest.fixture(scope="module")
def found() -> xr.DataTree:
    model, held, scores = study()
    made = examine(model, held, scores, options=Options(controls=20))
    made.attrs["options"] = json.dumps(json.loads(made.attrs["options"]) | OPTIONS)
    return made


def printed(capsys: pytest.CaptureFixture[str], found: xr.DataTree) -> str:
    tell(evidence_findings(found))
    return " ".join(capsys.readouterr().out.replace("│", " ").split())


def changed(found: xr.DataTree, node: str, table: xr.Dataset) -> xr.DataTree:
    made = found.copy()
    made[node] = xr.DataTree(table)
    return made


def test_tested_heads_are_listed_with_the_number_of_tasks(found, capsys):
    text = printed(capsys, found)
    assert "heads of ┃ tested heads ┃ on tasks" in text
    assert "6" in text.split("on tasks", 1)[1].split("Linguistic", 1)[0].split()
    assert "`specificity` is the damage to a category's own tasks minus the mean of the other columns" in text


def test_the_rival_has_a_table_of_its_own(found, capsys):
    text = printed(capsys, found)
    assert "tasks of ┃ n ┃ by own heads ┃ rival ┃ by the rival's ┃ difference ┃ 95 %" in text
    assert "Beside the rival: the other category whose heads do most here (no part of the verdict)" in text


def test_it_ends_with_the_verdicts(found, capsys):
    text = printed(capsys, found)
    heading = "Verdicts category ┃ by its heads ┃ by those in no other category ┃ its heads damage more"
    last = text.split(heading, 1)[1]
    assert "Knowledge supported supported Linguistic supported supported" in last
    table = found["specificity"].to_dataset().copy(deep=True)
    table["damage"].loc[{"category": "Knowledge", "target": "Linguistic"}] = 2.0
    last = printed(capsys, changed(found, "specificity", table)).split(heading, 1)[1]
    assert "Knowledge supported supported Linguistic Linguistic supported supported" in last


def test_heads_that_are_all_exclusive_are_tested_once(found, capsys):
    same = "The same by heads that are in no other category: these are all of the tested heads."
    assert same in printed(capsys, found)
    table = found["exclusive"].to_dataset().copy(deep=True)
    table["heads"][0, 0] = "L0H0"
    assert same not in printed(capsys, changed(found, "exclusive", table))


def test_steps_on_fewer_tasks_are_marked(found, capsys):
    assert "* on fewer tasks" not in printed(capsys, found)
    table = found["curves"].to_dataset().copy(deep=True)
    table["n_tasks"].loc[{"category": "Knowledge", "side": "own", "k": 3}] = 1
    text = printed(capsys, changed(found, "curves", table))
    assert "Knowledge 3*" in text
    assert "* on fewer tasks than the rows above, as fewer heads were found without some: not to be compared." in text


def test_heads_that_do_nothing_are_counted_not_listed(found, capsys):
    assert "not listed" not in printed(capsys, found)
    table = found["self_repair"].to_dataset().copy(deep=True)
    for name, value in (("total", 0.0004), ("direct", -0.0004)):
        table[name].loc[{"category": "Knowledge", "place": 0}] = value
    text = printed(capsys, changed(found, "self_repair", table))
    assert "1 head with both effects below 0.001 of the gap not listed." in text
    assert "repaired = direct - total effect: above 0, later layers make up for the head; below 0, they carry" in text


def test_heads_whose_direct_effect_is_not_known_are_listed(found, capsys):
    table = found["self_repair"].to_dataset().copy(deep=True)
    table["total"][:] = 0.0004
    for name in ("direct", "repaired"):
        table[name][:] = float("nan")
    text = printed(capsys, changed(found, "self_repair", table))
    assert "not listed" not in text
    assert "repaired = direct" not in text
    assert " - 0.000 - " in text.split("do later layers make up", 1)[1]


def test_without_exclusive_heads_there_is_one_line(found, capsys):
    table = found["exclusive"].to_dataset().copy(deep=True)
    table["heads"][:] = ""
    text = printed(capsys, changed(found, "exclusive", table))
    assert "The same by heads that are in no other category: no category has any." in text
