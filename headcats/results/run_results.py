"""What a results folder holds: manifest, labels, declarations and blocks, found in its labelled tree."""

import itertools
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import xarray as xr

from headcats.base.errors import DataError
from headcats.results.declaration import Declaration, declaration_of
from headcats.results.descriptors import DESCRIPTORS_NODE
from headcats.results.file_format import checksum
from headcats.results.head_axes import HEAD
from headcats.results.label import Label
from headcats.results.manifest import SUITE, Manifest
from headcats.results.place import Place
from headcats.results.records import BlockRecord, TaskRecord
from headcats.results.suite_text import SUITE_FILE

STATE = "state"
"""Attribute of saved tables: `RunResults.state` of what they were made of."""
_TABLE = re.compile(r'hc\.suite_blocks\(results\)\["([^"]+)"\]')


class RunResults:
    """Results of a run, finished or not: what is found in its labelled tree, each read once.

    The tree is as `hc.load` returns it, a part of it, or made by hand.
    """

    def __init__(self, tree: xr.DataTree) -> None:
        self._tree = tree
        self.attrs: Mapping[Any, Any] = tree.attrs
        """Texts of the root: `categories`, `manifest`, `suite`, `missing`."""

    @property
    def tree(self) -> xr.DataTree:
        """Labelled tree, as `hc.load` returns it."""
        return self._tree

    @cached_property
    def place(self) -> Place | None:
        """Place that the results were read from; None for results in memory."""
        source = self.tree.encoding.get("source")
        return None if source is None else Place(source, Path(self.tree.encoding.get("folder", source)))

    @cached_property
    def tasks(self) -> dict[str, tuple[str, ...]]:
        """Task -> labels of its blocks; what belongs to the whole suite is not among them."""
        return {
            str(name): tuple(map(str, node.children))
            for name, node in self.tree.children.items()
            if not str(name).startswith("_")
        }

    def block(self, task: str, label: str) -> xr.Dataset:
        """The block of a method on a task."""
        return self.tree[task].children[label].to_dataset()

    def category(self, task: str) -> str | None:
        """The category of a task; None where a tree that was made by hand does not say."""
        name = self.tree[task].attrs.get("category")
        return None if name is None else str(name)

    def independent_source(self, task: str) -> str:
        """The independent source that a task belongs to; its own name where the results do not say."""
        record = self.manifest_or_empty.tasks.get(task)
        return task if record is None else record.independent_source or task

    def blocks_of(self, label: str) -> dict[str, xr.Dataset]:
        """Task -> its block of one method, where there is one."""
        return {task: self.block(task, label) for task, labels in self.tasks.items() if label in labels}

    @property
    def has_manifest(self) -> bool:
        """False for a part of results, or for a tree that was made by hand."""
        return "manifest" in self.attrs

    @cached_property
    def manifest(self) -> Manifest:
        """The manifest; without one, a DataError."""
        if self.has_manifest:
            return Manifest.from_json(str(self.attrs["manifest"]))
        raise DataError("These results have no manifest, which hc.run and hc.load put into their attributes.")

    @property
    def manifest_or_empty(self) -> Manifest:
        """The manifest; an empty one where there is none."""
        return self.manifest if self.has_manifest else Manifest()

    @property
    def suite_text(self) -> str:
        """The suite as text (see `headcats.tasks.stored`); "" where the results do not hold it."""
        return str(self.attrs.get("suite", ""))

    @property
    def suite_place(self) -> str:
        """Place of that text, for messages."""
        place = self.place
        return "The suite of these results" if place is None else os.path.join(place.address, SUITE_FILE)

    @property
    def scored_tasks(self) -> list[str]:
        """The tasks with numbers, in alphabetical order."""
        return sorted(task for task, labels in self.tasks.items() if labels)

    @property
    def scored_records(self) -> dict[str, TaskRecord]:
        """Records of the tasks with numbers; of a tree without a manifest none."""
        records = self.manifest_or_empty.tasks
        return {task: records[task] for task in self.scored_tasks if task in records}

    def state(self, labels: Iterable[str]) -> str:
        """Checksum of the blocks of some methods and of the categories of their tasks; tables made of them carry it."""
        manifest, chosen = self.manifest_or_empty, set(labels)
        blocks = [
            (task, self.category(task), label, _mark(manifest.record(task, label)))
            for task in self.scored_tasks
            for label in sorted(chosen.intersection(self.tasks[task]))
        ]
        joint = [
            (label, sorted(record.tasks.items()), sorted((part, _mark(of)) for part, of in record.parts.items()))
            for label, record in sorted(manifest.joint.items())
            if label in chosen
        ]
        return checksum(json.dumps([blocks, joint]).encode("ascii"))

    def repeats(self, other: "RunResults") -> bool:
        """True if both hold the same blocks of one run: one is a copy of the other."""
        first, second = self.manifest_or_empty, other.manifest_or_empty
        alike = first.created == second.created != "" and first.model.weights_hash == second.model.weights_hash
        labels = {*map(str, self.scored), *self.joint_blocks}
        return (
            alike
            and labels == {*map(str, other.scored), *other.joint_blocks}
            and bool(labels)
            and (self.state(labels) == other.state(labels))
        )

    @cached_property
    def joint_blocks(self) -> dict[str, xr.Dataset]:
        """Joint method with its options -> its block."""
        if SUITE not in self.tree.children:
            return {}
        return {str(label): node.to_dataset() for label, node in self.tree[SUITE].children.items()}

    @cached_property
    def missing(self) -> dict[str, str]:
        """File that was damaged or gone when the results were read -> what is wrong with it; they are without it."""
        return dict(json.loads(self.attrs.get("missing", "{}")))

    @cached_property
    def descriptors(self) -> xr.Dataset | None:
        """Descriptors of the heads on the scored prompts (`hc.describe_heads`); None where there are none."""
        if DESCRIPTORS_NODE not in self.tree.children:
            return None
        return self.tree[DESCRIPTORS_NODE].to_dataset()

    @cached_property
    def scored(self) -> list[Label]:
        """Labels of the methods that scored single tasks, in the order of the study."""
        labels = list(dict.fromkeys(itertools.chain(*self.tasks.values())))
        order = [*self.manifest_or_empty.methods, *labels]
        return [Label.parse(label) for label in sorted(labels, key=order.index)]

    @cached_property
    def declarations(self) -> dict[str, Declaration]:
        """Label of every block -> declaration of its method; joint methods last."""
        by_label: dict[str, Declaration] = {}
        for task, labels in self.tasks.items():
            for label in labels:
                if label not in by_label:
                    block = self.block(task, label)
                    by_label[label] = replace(declaration_of(block, name=Label.parse(label).name), kind="task")
        for label, table in self.joint_blocks.items():
            by_label[label] = replace(declaration_of(table, name=Label.parse(label).name), kind="joint")
        return by_label

    @cached_property
    def sorting_methods(self) -> list[str]:
        """Labels of the joint methods that sort heads into categories."""
        return [label for label in self.joint_blocks if self.declarations[label].selection]

    @cached_property
    def default_label(self) -> Label | None:
        """The method to map if none is named; None if no task was scored.

        The first exact one of single heads that is no control; else one of groups; else the first exact one, or any.
        """
        exact = [label for label in self.scored if not self.approximation(label)]
        causal = [label for label in exact if not self.declarations[str(label)].control_of]
        single = [label for label in causal if label.unit == HEAD]
        return next(iter([*single, *causal, *exact, *self.scored]), None)

    def approximation(self, label: Label) -> str:
        """Approximation of the numbers of a method, such as "first order"; "" where they are exact."""
        task = next((task for task, labels in self.tasks.items() if str(label) in labels), None)
        # `hc.score` refuses blocks of one method that differ in it.
        return "" if task is None else str(self.block(task, str(label)).attrs.get("approximation", ""))

    def tried_categories(self, method: str | None = None) -> dict[str, list[str]]:
        """Category of every task that a run has tried -> those of its tasks that were skipped.

        With a joint method and its options, all others are left out.
        """
        skipped: dict[str, list[str]] = {}
        for task, record in self.manifest.tasks.items() if method is None else ():
            skipped.setdefault(record.category, []).extend([task] if record.refusal else [])
        for label, joint in self.manifest.joint.items():
            for task, category in joint.tasks.items() if method in (None, label) else ():
                skipped.setdefault(category, []).extend([task] if task in joint.skipped() else [])
        for label, block in self.joint_blocks.items():
            strength = self.declarations[label].strength if method in (None, label) else None
            for name in block[strength.group].values.tolist() if strength and strength.group in block.coords else ():
                skipped.setdefault(str(name), [])
        return skipped

    def without_untried(self, *more: "RunResults") -> "RunResults":
        """Drop the suite's categories that neither this run nor `more` have tried a task of.

        A category whose tasks were all skipped stays.
        """
        tried = {category for run in (self, *more) for category in run.tried_categories()}
        entries = [entry for entry in json.loads(self.attrs["categories"]) if entry["name"] in tried]
        return self.with_categories(entries) if entries else self

    def with_categories(self, entries: Sequence[Mapping[str, str]]) -> "RunResults":
        """Replace the categories, each by its name and colour."""
        copy = self.tree.copy()
        copy.attrs = {**self.tree.attrs, "categories": json.dumps(entries, ensure_ascii=False)}
        return RunResults(copy)


def _mark(record: BlockRecord | None) -> str:
    # Parts of joint methods have no checksum, and blocks of a run that was stopped may have no record yet.
    return "" if record is None else record.checksum or record.fingerprint


def place_of(run: RunResults) -> Place:
    """Folder or address of results that were read; commands have no others."""
    assert run.place is not None
    return run.place


def suite_blocks(results: xr.DataTree) -> dict[str, xr.Dataset]:
    """Joint method -> its block; {} where none was run.

    Args:
        results: As `hc.load` returns them.

    Returns:
        One dataset per method; its variables, their dims and units are those that the method itself returns.

    Example:
        >>> import headcats as hc
        >>> hc.suite_blocks(hc.load("results/mini-icl"))  # no such method was run there
        {}
    """
    return RunResults(results).joint_blocks


def tables_of(method: str, labels: Iterable[str]) -> list[str]:
    """Expressions for the tables of a joint method, one for each of the `labels` that are the method with options."""
    return [f'hc.suite_blocks(results)["{label}"]' for label in labels if Label.parse(label).name == method]


def refuse_results(data: Any, *, by: str, expected: str, table: str) -> None:
    """Refuse results as `hc.load` and `hc.run` return them, a part of them, or what `hc.suite_blocks` makes of them.

    The message names the function or figure (`by`), what it reads (`` `auc` over (layer, role)``), how to get that
    (`hc.suite_blocks(results)["<method>"]`), and for a run's results the methods whose tables it holds.
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
