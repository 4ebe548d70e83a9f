"""Find things in the labelled tree of results: manifest, blocks, methods, categories."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import xarray as xr

from headcats.errors import DataError
from headcats.results.declaration import Declaration, declaration_of
from headcats.results.label import Label
from headcats.results.manifest import SUITE, Manifest

_TABLE = re.compile(r'hc\.suite_blocks\(results\)\["([^"]+)"\]')


def find_manifest(results: xr.DataTree) -> Manifest | None:
    """The manifest of results; None for a part of them, or for a tree that was made by hand."""
    return Manifest.from_json(results.attrs["manifest"]) if "manifest" in results.attrs else None


def manifest_of(results: xr.DataTree) -> Manifest:
    """The manifest of results, which must have one."""
    if manifest := find_manifest(results):
        return manifest
    raise DataError("These results have no manifest, which hc.run and hc.load put into their attributes.")


def task_nodes(results: xr.DataTree) -> dict[str, xr.DataTree]:
    """Task -> its node; what belongs to the whole suite is not among them."""
    return {str(name): node for name, node in results.children.items() if not str(name).startswith("_")}


def scored_labels(results: xr.DataTree) -> list[Label]:
    """Labels of the methods that scored single tasks, in the order of the study."""
    labels = list(dict.fromkeys(str(label) for node in task_nodes(results).values() for label in node.children))
    order = [*(find_manifest(results) or Manifest()).methods, *labels]
    return [Label.parse(label) for label in sorted(labels, key=order.index)]


def suite_blocks(results: xr.DataTree) -> dict[str, xr.Dataset]:
    """Joint method (such as `ov_relation`) -> its block; {} where none was run.

    Args:
        results: As `hc.load` returns them.

    Returns:
        One dataset per method; its variables, their dims and units are those that the method itself returns.

    Example:
        >>> import headcats as hc
        >>> hc.suite_blocks(hc.load("results/mini-icl"))  # no such method was run there
        {}
    """
    if SUITE not in results.children:
        return {}
    return {str(label): node.to_dataset() for label, node in results[SUITE].children.items()}


def declarations(results: xr.DataTree) -> dict[str, Declaration]:
    """Label of every block -> declaration of its method; joint methods last."""
    tasks = [node for task in task_nodes(results).values() for node in task.children.items()]
    joint = list(results[SUITE].children.items()) if SUITE in results.children else []
    by_label: dict[str, Declaration] = {}
    for label, block in [*tasks, *joint]:
        if str(label) not in by_label:
            by_label[str(label)] = declaration_of(block, name=Label.parse(str(label)).name)
    of_suite = {str(label) for label, _ in joint}
    return {label: replace(about, kind="joint" if label in of_suite else "task") for label, about in by_label.items()}


def first_exact(results: xr.DataTree) -> Label | None:
    """The default method to map: the first exact one that is no control, else the first exact, else the first.

    None if there is no causal method.
    """
    scored, declared = scored_labels(results), declarations(results)
    exact = [label for label in scored if not approximation_of(results, label)]
    causal = [label for label in exact if not declared[str(label)].control_of]
    return next(iter([*causal, *exact, *scored]), None)


def approximation_of(results: xr.DataTree, label: Label) -> str:
    """How the numbers of a method are approximated, such as "first order"; "" where they are exact."""
    blocks = (task[str(label)] for task in task_nodes(results).values() if str(label) in task.children)
    return next((str(kind) for block in blocks if (kind := block.attrs.get("approximation"))), "")


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

    With a joint method and its options, all others are left out.
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


def tables_of(method: str, labels: Iterable[str]) -> list[str]:
    """How the tables of a joint method are written, one for each of the `labels` that are the method with options."""
    return [f'hc.suite_blocks(results)["{label}"]' for label in labels if Label.parse(label).name == method]


def refuse_results(data: Any, *, by: str, expected: str, table: str) -> None:
    """Refuse results as `hc.load` and `hc.run` return them, a part of them, or what `hc.suite_blocks` makes of them.

    The message names the function or figure (`by`), what it reads (`` `auc` over (layer, role)``), how to get that
    (`hc.suite_blocks(results)["token_probe"]`), and for a run's results the methods whose tables it holds.
    """
    tables: Mapping[Any, Any] | None = None
    if isinstance(data, xr.DataTree):
        kind = "a part of results, an xarray.DataTree"
        if SUITE in data.children or "manifest" in data.attrs:
            kind, tables = "the whole results of a run, an xarray.DataTree", suite_blocks(data)
    elif isinstance(data, Mapping) and data and all(isinstance(entry, xr.Dataset) for entry in data.values()):
        kind, tables = f"a {type(data).__name__} of tables", data
    else:
        return
    contents = ""
    if tables is not None and "suite_blocks" in table:
        labels = [str(label) for label in tables]
        contents = f" Here hc.suite_blocks gives {', '.join(labels) or 'nothing: no joint method was run'}."
        table = _TABLE.sub(lambda match: " or ".join(tables_of(match[1], labels)) or match[0], table)
    raise DataError(f"{by} expects one table, an xarray.Dataset with {expected}; got {kind}. Pass {table}.{contents}")
