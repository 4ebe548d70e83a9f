"""Heads by two methods of a run: what is compared, and files that do not replace each other."""

import pytest

import headcats as hc
from headcats.categories.reading import Reading
from headcats.cli.agreed import select_both
from headcats.results.loading import open_results
from headcats.results.place import find_place

pytestmark = pytest.mark.filterwarnings("ignore::headcats.errors.StatisticsWarning")


def test_what_is_read_of_both_methods_is_in_the_names_of_files(tmp_path):
    tasks, methods = ["next_letter", "capital_country"], ["denoising_patch", "noising_patch"]
    metrics = ["logit_diff", "log_prob"]
    hc.run("mini", tasks=tasks, methods=methods, metrics=metrics, n_prompts=16, out=tmp_path / "r", progress=False)
    place = find_place(tmp_path / "r")
    run = open_results(place).without_untried()
    readings = [{}, {"metric": "log_prob"}, {"rule": "threshold:value=0.2"}, {"sign": "suppressing"}]
    both = [select_both(run, place, Reading.parse(**options), "noising_patch") for options in readings]
    assert len({selected.suffix for selected in both}) == len(readings)
    assert [selected.names for selected in both] == [("denoising_patch@last", "noising_patch@last")] * len(readings)
    first, other = (
        hc.categorize(hc.score(run.tree, method=method, metric="log_prob")).member == 1 for method in methods
    )
    assert bool(((both[1].tables["members"].member == 1) == (first & other)).all())
