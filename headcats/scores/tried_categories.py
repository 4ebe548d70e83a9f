"""Which categories of its suite a run has tried, and results without the others."""

import json

import xarray as xr

from headcats.results.declaration import declarations
from headcats.results.tree import manifest_of, suite_blocks


def drop_untried_categories(results: xr.DataTree, *more: xr.DataTree) -> xr.DataTree:
    """A copy of results without the suite's categories that neither they nor `more` have tried a task of.

    A category whose tasks were all skipped stays.
    """
    tried = set().union(*map(tried_categories, (results, *more)))
    categories = [entry for entry in json.loads(results.attrs["categories"]) if entry["name"] in tried]
    copy = results.copy()
    if categories:
        copy.attrs = {**results.attrs, "categories": json.dumps(categories, ensure_ascii=False)}
    return copy


def tried_categories(results: xr.DataTree, method: str | None = None) -> dict[str, list[str]]:
    """Category of every task that a run has tried -> those of its tasks that were skipped.

    Args:
        results: As `hc.load` returns them.
        method: A joint method, with its options, to leave all others out; None takes all methods.
    """
    manifest, skipped = manifest_of(results), dict[str, list[str]]()
    for task, record in manifest.tasks.items() if method is None else ():
        skipped.setdefault(record.category, []).extend([task] if record.refusal else [])
    for label, joint in manifest.joint_blocks.items():
        for task, category in joint.tasks.items() if method in (None, label) else ():
            skipped.setdefault(category, []).extend([task] if task in joint.skipped() else [])
    declared = declarations(results)
    for label, block in suite_blocks(results).items():
        strength = declared[label].strength if method in (None, label) else None
        for name in block[strength.group].values.tolist() if strength and strength.group in block.coords else ():
            skipped.setdefault(str(name), [])
    return skipped
