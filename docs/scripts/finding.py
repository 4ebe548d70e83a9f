"""Draw the picture of README.md, and say what stands below it, from the published results of a language model.

    python docs/scripts/finding.py

draws docs/pictures/finding.svg and prints the facts; tests/docs/test_published.py holds README.md to both.
"""

import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

import headcats as hc
from headcats.categories.head_roles import head_roles
from headcats.categories.map_result import MapResult
from headcats.categories.map_spec import MapSpec
from headcats.categories.membership import head_table
from headcats.categories.run_maps import scored_map
from headcats.figures.static.svg import svg
from headcats.reports.page.saved import saved_evidence
from headcats.reports.text.answer import contradictions, groups, headline, resampled
from headcats.results.loading import open_results
from headcats.results.place import find_place
from headcats.results.run_results import RunResults

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "pictures" / "finding.svg"
PUBLISHED = ROOT / "tutorials" / "smollm2-icl"


def published(folder: Path = PUBLISHED) -> RunResults:
    """Published results."""
    return open_results(find_place(str(folder)))


def map_of(run: RunResults, method: str | None = None) -> MapResult:
    """Map of all categories by a method, the first if none is named, beside the other maps of the run."""
    return scored_map(run.without_untried(), MapSpec.parse(method=method))


def facts(result: MapResult, run: RunResults) -> Iterator[str]:
    """Parts of README.md, most of them sentences of the reports."""
    prompts = {record.prompts.kept for record in run.scored_records.values()}
    yield f"{min(prompts)} to {max(prompts)} prompts"
    yield f"{len(run.scored_tasks)} of {len(run.manifest.tasks)} tasks"
    empty = [category.name for category in result.categories if not category.n_tasks]
    yield from (f"none of them of {name}" for name in empty)
    heads = head_table(result.overlap)
    yield f"{heads['head'].nunique()} of its {result.overlap.sizes['layer'] * result.overlap.sizes['head']} heads"
    widest = groups(result.overlap)[0].heads[0]
    effects = [
        f"{math.floor(100 * effect) / 100:.2f}".removeprefix("0")
        for effect in heads.loc[heads["head"] == widest, "effect"]
    ]
    yield f"{widest} alone brings back at least {', '.join(effects)} of the gap"
    for name, roles in itertools.groupby(head_roles(result.overlap), key=lambda role: role.name):
        yield f"{' and '.join(role.head for role in roles)}, {name}"
    tests = tuple(saved_evidence(run).contents.values())
    for found in (*resampled(result), next(headline(replace(result, evidence=tests)))):
        yield str(found).removesuffix(".")
    for test in tests:
        yield f"the tasks are {len(set(test['relabelling']['source_of_task'].values.tolist()))} independent sources"
        damage = r"(\w+): .*? (damage its tasks by \S+ of the gap and those of other categories by \d\.\d+)"
        name, says = re.findall(damage, test.attrs["reading"])[0]
        yield f"heads of {name}, ablated together, {says}"
    contradiction, *others = (
        str(replace(found, fields={**found.fields, "counts": None})) for found in contradictions(result)
    )
    if result.task_specific is not None:
        yield f"{contradiction.removesuffix('.')}: {_by_head(result, result.task_specific.names_too(result))}."
    yield from others
    yield from _by_ablation(result, run)


def _by_ablation(result: MapResult, run: RunResults) -> Iterator[str]:
    """Members by mean ablation, too, and what it adds without the tasks that are corrupted otherwise."""
    ablated = hc.score(run.tree, method="mean_ablation")
    others = [task for task in ablated["task"].values.tolist() if run.manifest.tasks[task].corruption]
    usual = hc.categorize(ablated.drop_sel(task=others))["member"] == 1
    members = result.overlap["member"] == 1
    both = (map_of(run, "mean_ablation").overlap["member"] == 1) & members
    yield f"names {_by_head(result, both.transpose('category', 'layer', 'head').values)}"
    if not (usual & ~members).any() and (usual.sum() == both.sum()):
        yield f"without the {len(others)} tasks with shuffled labels it adds none"


def _by_head(result: MapResult, memberships: np.ndarray) -> str:
    """Heads of `(category, layer, head)` with their categories."""
    names = np.array([category.name for category in result.categories])
    with_categories = []
    for layer, head in np.argwhere(memberships.any(0)):
        *first, last = names[memberships[:, layer, head]]
        inside = f"{', '.join(first)} and {last}" if first else last
        with_categories.append(f"L{result.overlap['layer'].values[layer]}H{head} in {inside}")
    return ", ".join(with_categories)


def picture(result: MapResult) -> str:
    """The picture as SVG."""
    drawn = svg(hc.figures.overlap_map(result.overlap, layout="hero", title=str(next(headline(result)))))
    if drawn is None:
        raise ValueError("The map of a run must have a static picture.")
    return drawn + "\n"


if __name__ == "__main__":
    run = published()
    result = map_of(run)
    PICTURE.write_text(picture(result), encoding="utf-8")
    print(*facts(result, run), sep="\n")
