"""Heads by two methods of a run: what is compared, and files that do not replace each other."""

import pytest

import headcats as hc
from headcats.categories.map_spec import MapSpec
from headcats.reports.text.selected import read_map
from headcats.results.loading import open_results
from headcats.results.place import find_place

pytestmark = pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")


def test_what_is_read_of_both_methods_is_in_the_names_of_files(results):
    run = open_results(find_place(results)).without_untried()
    readings = [{}, {"rule": "threshold:value=0.2", "sign": "suppressing"}]
    both = [read_map(run, MapSpec.parse(**options), other="mean_ablation") for options in readings]
    more = both[1].suffix.removeprefix(both[0].suffix)
    assert "threshold" in more
    assert "suppressing" in more
    assert [result.methods for result in both] == [("denoising_patch@last", "mean_ablation@all")] * len(readings)
    first, other = (
        hc.categorize(hc.score(run.tree, method=method)).member == 1 for method in ("denoising_patch", "mean_ablation")
    )
    assert bool(((both[0].tables["members"].member == 1) == (first & other)).all())
