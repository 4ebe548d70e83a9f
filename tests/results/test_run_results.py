"""Which categories a run has tried, and results without the others."""

import json

import xarray as xr

from headcats.results.run_results import RunResults

NAMES = ["Algorithmic", "Knowledge", "Linguistic", "Translation"]


def results(tasks, parts=None, *, of_parts=()):
    """Results as a run leaves them; refused tasks and parts are those with a reason."""
    tree = xr.DataTree()
    entry = {"parts": {part: {"refusal": why} if why else {} for part, why in (parts or {}).items()}}
    manifest = {
        "tasks": {name: {"category": category, "refusal": why} for name, (category, why) in tasks.items()},
        "blocks": {"ov_relation": entry | {"tasks": dict(of_parts)}} if parts else {},
    }
    categories = [{"name": name, "colour": "#000000"} for name in NAMES]
    tree.attrs = {"manifest": json.dumps(manifest), "categories": json.dumps(categories)}
    return tree


def names(tree):
    return [entry["name"] for entry in json.loads(tree.attrs["categories"])]


def test_a_category_whose_tasks_were_all_refused_stays():
    tree = results({"plural": ("Linguistic", ""), "successor": ("Algorithmic", "too hard")})
    assert RunResults(tree).tried_categories() == {"Linguistic": [], "Algorithmic": ["successor"]}
    assert names(RunResults(tree).without_untried().tree) == ["Algorithmic", "Linguistic"]


def test_a_category_whose_parts_were_all_refused_stays():
    tasks = {"plural": "Linguistic", "next_letter": "Algorithmic"}
    tree = results({"capital": ("Knowledge", "")}, {"plural": "", "next_letter": "too few"}, of_parts=tasks)
    assert RunResults(tree).tried_categories("ov_relation") == {"Linguistic": [], "Algorithmic": ["next_letter"]}
    assert RunResults(tree).tried_categories("head_gating") == {}
    assert names(RunResults(tree).without_untried().tree) == ["Algorithmic", "Knowledge", "Linguistic"]


def test_results_are_left_as_they_are():
    first, second = results({"plural": ("Linguistic", "")}), results({"capital": ("Knowledge", "")})
    assert names(RunResults(first).without_untried(RunResults(second)).tree) == ["Knowledge", "Linguistic"]
    assert names(first) == names(second) == NAMES
    assert names(RunResults(results({})).without_untried().tree) == NAMES, "a run without anything"
