"""Which categories a run has tried, and results without the others."""

import json

import xarray as xr

from headcats.findings.mapping import categories_tried, of_run

NAMES = ["Algorithmic", "Knowledge", "Linguistic", "Translation"]


def results(tasks, parts=None, *, of_parts=()):
    """Results as a run leaves them; refused tasks and parts are those with a reason."""
    made = xr.DataTree()
    entry = {"parts": {part: {"refusal": why} if why else {} for part, why in (parts or {}).items()}}
    manifest = {
        "tasks": {name: {"category": category, "refusal": why} for name, (category, why) in tasks.items()},
        "blocks": {"_suite": {"ov_relation": entry | {"tasks": dict(of_parts)}}} if parts else {},
    }
    listed = [{"name": name, "colour": "#000000"} for name in NAMES]
    made.attrs = {"manifest": json.dumps(manifest), "categories": json.dumps(listed)}
    return made


def listed(one):
    return [entry["name"] for entry in json.loads(one.attrs["categories"])]


def test_a_category_whose_tasks_were_all_refused_stays():
    found = results({"plural": ("Linguistic", ""), "successor": ("Algorithmic", "too hard")})
    assert categories_tried(found) == {"Linguistic": [], "Algorithmic": ["successor"]}
    assert listed(of_run(found)) == ["Algorithmic", "Linguistic"]


def test_a_category_whose_parts_were_all_refused_stays():
    asked = {"plural": "Linguistic", "next_letter": "Algorithmic"}
    found = results({"capital": ("Knowledge", "")}, {"plural": "", "next_letter": "too few"}, of_parts=asked)
    assert categories_tried(found, "ov_relation") == {"Linguistic": [], "Algorithmic": ["next_letter"]}
    assert categories_tried(found, "head_gating") == {}
    assert listed(of_run(found)) == ["Algorithmic", "Knowledge", "Linguistic"]


def test_results_are_left_as_they_are():
    one, other = results({"plural": ("Linguistic", "")}), results({"capital": ("Knowledge", "")})
    assert listed(of_run(one, other)) == ["Knowledge", "Linguistic"]
    assert listed(one) == listed(other) == NAMES
    assert listed(of_run(results({}))) == NAMES, "a run without anything"
