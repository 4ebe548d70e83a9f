"""What is said where scores of tasks are asked of a method, or of results, that have none."""

import json
from pathlib import Path

import pytest
import xarray as xr

from headcats.errors import OptionError, UnknownNameError
from headcats.findings.instead import check_scored, drawn_by

FOLDER = Path("r")
RELATIONS = "`headcats figure ov_map r --method ov_relation --out ov_map.html`"
PROBE = "`headcats figure importance_grid r --method function_probe --out importance_grid.html`"


def results(*whole, scored=()):
    """Results that hold these methods over the whole suite, and these method@positions of one task."""
    blocks = {f"/_suite/{label}": xr.Dataset(attrs={"label": label, "model": "toy"}) for label in whole}
    blocks |= {f"/plural/{label}": xr.Dataset() for label in scored}
    made = xr.DataTree.from_dict(blocks)
    made.attrs["manifest"] = json.dumps({"methods": [*whole, *scored]})
    return made


def said(error, *arguments):
    with pytest.raises(error) as found:
        check_scored(*arguments, by="A map")
    return str(found.value)


@pytest.mark.parametrize(
    ("held", "command"),
    [
        ("ov_relation", RELATIONS),
        ("function_probe", PROBE),
        ("token_probe", "`headcats figure layer_token r --method token_probe --out layer_token.html`"),
    ],
)
def test_results_without_a_scored_task_name_what_they_hold(held, command):
    reads = f"A map reads scores of tasks, and these results hold none, only {held}. To look at that: {command}."
    assert said(OptionError, results(held), FOLDER, None) == reads
    misspelt = said(UnknownNameError, results(held), FOLDER, "mean_ablaton")
    assert misspelt.startswith("Unknown method 'mean_ablaton'. Did you mean 'mean_ablation'")
    assert misspelt.endswith(reads)


def test_a_method_over_the_whole_suite_names_the_figure_that_draws_it():
    of_suite = "ov_relation judges heads over the whole suite, so it has no scores of tasks"
    assert said(OptionError, results("ov_relation"), FOLDER, "ov_relation") == f"{of_suite}; {RELATIONS} draws it."
    both = results("ov_relation", scored=["mean_ablation@last"])
    choose = "A map reads scores of tasks: choose one of mean_ablation@last with --method."
    assert said(OptionError, both, FOLDER, "ov_relation@last") == f"{of_suite}; {RELATIONS} draws it. {choose}"
    absent = said(OptionError, results("function_probe"), FOLDER, "ov_relation")
    assert absent == f"{of_suite}. These results hold function_probe. To look at that: {PROBE}."


def test_scored_tasks_and_empty_results_are_let_pass():
    check_scored(results("ov_relation", scored=["mean_ablation@last"]), FOLDER, None, by="A map")
    check_scored(results("ov_relation", scored=["mean_ablation@last"]), FOLDER, "mean_ablation", by="A map")
    check_scored(results(), FOLDER, None, by="A map")


def test_methods_of_another_package_have_no_command():
    held = results("lengths", "ov_relation", "function_probe")
    assert drawn_by(held, FOLDER) == f"{RELATIONS} or {PROBE}"
    assert drawn_by(held, FOLDER, "lengths") == ""
    assert said(OptionError, held, FOLDER, "lengths").endswith(
        f"These results hold lengths and ov_relation and function_probe. To look at that: {RELATIONS} or {PROBE}."
    )
