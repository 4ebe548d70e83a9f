"""Everything that a page shows, read from a results folder once: no model, no torch."""

import os
import shlex
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import xarray as xr

from headcats.errors import HeadcatsError, StatisticsWarning
from headcats.evidence import method_scores
from headcats.file_names import EVIDENCE, marks
from headcats.methods.declaration import Declaration, declarations
from headcats.page.saved import Evidence, View, incomplete_evidence, saved_evidence, saved_views
from headcats.results import Label, Manifest, manifest_of, scored_labels, suite_blocks
from headcats.rules import Rule, fdr
from headcats.rules.text import rule_text
from headcats.scores import first_exact, score


@dataclass(frozen=True)
class Material:
    """Results, what was made of them, and what else lies in their folder.

    Attributes:
        results: As `hc.load` returns them.
        found: `scores`, `members` and `overlap` of the mapped method (see `headcats.findings.mapping`); {} where no
            task was scored.
        rule: Rule of the map.
        min_tasks: How many tasks of a category must agree.
        folder: The results folder; None for results in memory.
        target: Where the page goes.
        said: Warnings of the statistics, in the order in which they came.
    """

    results: xr.DataTree
    found: Mapping[str, xr.Dataset]
    rule: Rule
    min_tasks: int | str
    folder: Path | None
    target: Path
    said: tuple[str, ...] = ()

    @cached_property
    def manifest(self) -> Manifest:
        """The manifest."""
        return manifest_of(self.results)

    @cached_property
    def blocks(self) -> dict[str, xr.Dataset]:
        """Method over the whole suite -> what it found."""
        return suite_blocks(self.results)

    @cached_property
    def evidence(self) -> list[Evidence]:
        """Saved tests of the very categories that are mapped: ablated at the last position, and at all."""
        found = {one.folder: one for one in self._saved}
        return [found[name] for name in self._evidence_names if name in found]

    @cached_property
    def other_evidence(self) -> list[Evidence]:
        """Saved tests of categories that were made in another way."""
        return [one for one in self._saved if one.folder not in self._evidence_names]

    @cached_property
    def incomplete_evidence(self) -> dict[str, list[str]]:
        """Folder of a test that was stopped while it was written -> files that it lacks."""
        return {} if self.folder is None else incomplete_evidence(self.folder)

    @cached_property
    def _saved(self) -> list[Evidence]:
        return [] if self.folder is None else saved_evidence(self.folder)

    @cached_property
    def _evidence_names(self) -> list[str]:
        """Folders of evidence on the mapped categories; suppressing heads are not tested."""
        attrs = self.found["overlap"].attrs if self.found else {}
        if not attrs or attrs.get("sign") == "suppressing":
            return []
        chosen = {"label": Label.parse(self.mapped), "metric": attrs["metric"], "effect": attrs.get("effect", "total")}
        chosen |= {"rule": repr(self.rule), "min_tasks": str(self.min_tasks)}
        where = ("last", "all")
        return ["-".join([EVIDENCE, *marks(self.results, **chosen, positions=positions)]) for positions in where]

    @cached_property
    def views(self) -> list[View]:
        """Attention views that lie in the folder."""
        return [] if self.folder is None else saved_views(self.folder)

    @cached_property
    def declared(self) -> dict[str, Declaration]:
        """Label of every block -> what its method says of itself."""
        return declarations(self.results)

    @cached_property
    def labels(self) -> list[str]:
        """Every method@positions of the scored tasks, as it was run."""
        return [str(label) for label in scored_labels(self.results)]

    @cached_property
    def mapped(self) -> str:
        """The method@positions that the map is of; "" where no task was scored."""
        if not self.found:
            return ""
        attrs = self.found["members"].attrs
        return str(Label.parse(attrs["method"]).at(attrs["positions"]))

    @property
    def scores(self) -> dict[str, xr.Dataset]:
        """Scores of every method that is no control, in the map's metric, the mapped one first."""
        return self._scored[0]

    @property
    def not_scored(self) -> dict[str, str]:
        """Method@positions that has no scores in the map's metric -> why."""
        return self._scored[1]

    @cached_property
    def _scored(self) -> tuple[dict[str, xr.Dataset], dict[str, str]]:
        if not self.found:
            return {}, {}
        known, problems = {self.mapped: self.found["scores"]}, dict[str, str]()
        for scored in scored_labels(self.results):
            label = str(scored)
            if label in known or self.declared[label].control_of:
                continue
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", StatisticsWarning)  # those of the mapped method are shown
                    metric = self.found["members"].attrs["metric"]
                    known[label] = score(self.results, method=scored.method, metric=metric, positions=scored.positions)
            except HeadcatsError as error:  # measured in other metrics alone, for example
                problems[label] = str(error)
        return known, problems

    @cached_property
    def strengths(self) -> xr.Dataset | None:
        """What the methods over the whole suite say of every head, on one grid; None where there are none."""
        labels = [label for label in self.blocks if self.declared[label].strength]
        try:
            return method_scores(self.results, methods=labels) if labels else None
        except HeadcatsError:
            return None

    @cached_property
    def paths(self) -> list[tuple[str, str, str, str]]:
        """Task, method@positions, path and outcome of the self-check, for every block of a task."""
        return [
            (task, label, record.path, record.self_check)
            for task, records in self.manifest.blocks.items()
            for label, record in records.items()
        ]

    @property
    def not_judged(self) -> str:
        """Why the rule can judge no head; "" where it can, and where no task was scored."""
        return str(self.found["members"].attrs.get("not_judged", "")) if self.found else ""

    @property
    def named_folder(self) -> str:
        """The results folder as a command names it."""
        return "DIR" if self.folder is None else shlex.quote(self.folder.as_posix())

    def options(self, *names: str) -> str:
        """What a command on the folder needs to speak of the same categories: options that are not the default.

        Args:
            names: Those that the command has.
        """
        attrs = self.found["overlap"].attrs
        asked = {
            "method": (self.mapped, str(first_exact(self.results))),
            "metric": (attrs["metric"], self.manifest.plan.metrics[0]),
            "effect": (attrs.get("effect", "total"), "total"),
            "rule": (rule_text(self.rule), rule_text(fdr())),
            "min-tasks": (str(self.min_tasks), "half"),
            "sign": (attrs.get("sign", "helping"), "helping"),
        }
        return "".join(f" --{name} {asked[name][0]}" for name in names if asked[name][0] != asked[name][1])

    def address(self, path: Path) -> str:
        """A file of the results folder, as the page links it."""
        try:
            return Path(os.path.relpath(path.resolve(), self.target.resolve().parent)).as_posix()
        except ValueError:  # on another drive
            return path.resolve().as_uri()
