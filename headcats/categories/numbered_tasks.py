"""Which tasks of a category have numbers."""

import json

import xarray as xr

from headcats.rules.rule import Rule


def numbered_tasks(scores: xr.Dataset, *, rule: Rule | None = None) -> dict[str, list[str]]:
    """Category -> its tasks with any number (of every variable that the rule reads), in the order of the scores.

    Variables that the scores lack altogether are left to the rule, whose error explains why.
    """
    numbered = scores["effect"].notnull().any(("layer", "head"))
    for name in rule.reads if rule is not None else ():
        if name in scores:
            numbered = numbered & scores[name].notnull().any(("layer", "head"))
    tasks = {}
    for entry in json.loads(scores.attrs["categories"]):
        rows = (scores["category"] == entry["name"]) & numbered
        tasks[entry["name"]] = [str(task) for task in scores["task"].values[rows.values]]
    return tasks
