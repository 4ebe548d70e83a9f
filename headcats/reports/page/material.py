"""Everything that a page shows, read from a results folder once: no model, no torch."""

import os
import shlex
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

import xarray as xr

from headcats.base.errors import HeadcatsError, StatisticsWarning
from headcats.categories.map_result import MapResult
from headcats.categories.map_spec import MapSpec
from headcats.categories.run_maps import kept_tables
from headcats.evidence.comparison.method_grid import method_scores
from headcats.reports.page.saved import Saved, saved_attention, saved_evidence
from headcats.reports.text.answer import approximated, cautions, contradictions, other_tests, toy_model_warning
from headcats.reports.text.tasks import corruptions
from headcats.results.finding import Finding, line
from headcats.results.head_axes import HEAD, noun, unit_of
from headcats.results.run_results import RunResults


@dataclass(frozen=True)
class Material:
    """A run, its map by scores or by a joint method, and what else lies in its folder; `target` is the page."""

    run: RunResults
    map: MapResult | None
    target: Path
    test: xr.DataTree | None = None
    """A test that was just made, which speaks before those that are saved."""

    @property
    def spec(self) -> MapSpec:
        """Method, metric, rule and sign of the map; the defaults without one."""
        return MapSpec() if self.map is None else self.map.spec

    @property
    def scored(self) -> MapResult | None:
        """The map, if it is by scores of tasks."""
        return self.map if self.map is not None and self.map.is_scored else None

    @property
    def joint(self) -> MapResult | None:
        """The map, if it is by a joint method."""
        return self.map if self.map is not None and not self.map.is_scored else None

    @property
    def tested(self) -> MapResult:
        """The map by scores, with the tests of its categories that are saved."""
        assert self.scored is not None
        return replace(self.scored, evidence=tuple(self.evidence))

    @property
    def tables(self) -> Mapping[str, xr.Dataset]:
        """Tables of the map by scores: `scores`, `members`, `overlap` and their tests; {} without one."""
        return {} if self.scored is None else self.scored.tables

    @cached_property
    def evidence(self) -> list[xr.DataTree]:
        """Saved tests of the very categories that are mapped: ablated at the last position, and at all."""
        saved = self._evidence.contents
        tests = [saved[name] for name in self._evidence_names if name in saved]
        return tests if self.test is None else [self.test, *tests]

    @property
    def unusable_evidence(self) -> dict[str, str]:
        """Folder of a saved test that cannot be shown -> why."""
        return self._evidence.problems

    @property
    def lost_evidence(self) -> str:
        """Why a test of the very categories that are mapped cannot be shown; "" where none was saved."""
        problems = self.unusable_evidence
        return next((problems[name] for name in self._evidence_names if name in problems), "")

    def not_tested(self) -> Iterator[Finding]:
        """Say that no test of the mapped categories can be shown, and why."""
        if not self.evidence and (self.lost_evidence or self.tested.inside.any()):
            problem = self.lost_evidence
            yield line("answer.test_lost", problem=problem) if problem else line("answer.not_tested")

    def doubts(self) -> Iterator[Finding]:
        """Doubts about the map by scores, the weightiest first."""
        yield from approximated(self.tested.tables["scores"])
        yield from corruptions(self.run, self.tested.tasks)
        yield from contradictions(self.tested)
        yield from other_tests(self.tested)
        yield from self.not_tested()
        yield from toy_model_warning(self.run.manifest_or_empty.model)
        yield from cautions(self.tested)

    @cached_property
    def _evidence(self) -> Saved[xr.DataTree]:
        return saved_evidence(self.run)

    @cached_property
    def _evidence_names(self) -> list[str]:
        """Folders of evidence on the mapped categories; suppressing heads are not tested."""
        if not self.tables or self.spec.sign == "suppressing":
            return []
        return [self.spec.evidence_folder(self.run, ablated=positions) for positions in ("last", "all")]

    @cached_property
    def attention(self) -> Saved[dict[str, Any]]:
        """Where heads of each category look, as it is saved."""
        return saved_attention(self.run)

    @cached_property
    def mapped(self) -> str:
        """The method@positions that the map is of; "" without one."""
        return str(self.spec.label) if self.tables else ""

    @property
    def unit(self) -> str:
        """Unit that the map counts: heads, or groups of them."""
        return unit_of(self.tables["scores"]) if self.tables else HEAD

    @property
    def scores(self) -> dict[str, xr.Dataset]:
        """Scores of every method that is no control, in the map's metric, the mapped one first."""
        return {label: scores for label, scores in self._scored.items() if not isinstance(scores, str)}

    @property
    def not_scored(self) -> dict[str, str]:
        """Method@positions that has no scores in the map's metric -> why."""
        return {label: reason for label, reason in self._scored.items() if isinstance(reason, str)}

    @cached_property
    def _scored(self) -> dict[str, xr.Dataset | str]:
        if not self.tables:
            return {}
        scores: dict[str, xr.Dataset | str] = {self.mapped: self.tables["scores"]}
        scores |= {str(other.spec.label): other.tables["scores"] for other in self.tested.others}
        for label in self.run.scored:
            if str(label) in scores or self.run.declarations[str(label)].control_of:
                continue
            if label.unit != self.unit:
                scores[str(label)] = (
                    f"its effects are of one {noun(label.unit)} at a time. A page of its own shows them."
                )
                continue
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", StatisticsWarning)  # those of the mapped method are shown
                    reading = MapSpec(label, self.spec.metric)
                    scores[str(label)] = kept_tables(self.run, reading, upto="scores")["scores"]
            except HeadcatsError as error:  # measured in other metrics alone, for example
                scores[str(label)] = str(error)
        return scores

    @cached_property
    def strengths(self) -> xr.Dataset | None:
        """Strength of every head by joint methods, on one grid; None where there are none, or the map is of groups."""
        labels = [label for label in self.run.joint_blocks if self.run.declarations[label].strength]
        if self.unit != HEAD:
            return None
        try:
            return method_scores(self.run.tree, methods=labels) if labels else None
        except HeadcatsError:
            return None

    @cached_property
    def paths(self) -> list[tuple[str, str, str, str]]:
        """Task, method@positions, path and outcome of the self-check, for every block of a task."""
        cells = self.run.manifest.cells()
        return [(task, label, record.path, record.self_check) for task, label, record in cells if not record.refusal]

    @property
    def not_judged(self) -> str:
        """Why the rule can judge no head; "" where it can, and without a map."""
        return "" if self.scored is None else self.scored.not_judged

    def command(self, name: str, *options: str) -> str:
        """Return a command that speaks of the same categories, with those `options` that are not the default.

        "DIR" stands for a folder that the reader has to make: what it says is saved nowhere else.
        """
        place = self.run.place
        folder = "DIR" if place is None or (name == "evidence" and place.on_hub) else shlex.quote(place.shown)
        values = {} if self.map is None else self.map.options
        return f"headcats {name} {folder}" + "".join(f" --{key} {values[key]}" for key in options if key in values)

    def address(self, path: Path) -> str:
        """A file of the results folder, as the page links it."""
        try:
            # Quoted: a folder may be called `#1`, or begin as the address of a script does.
            return quote(os.fsencode(Path(os.path.relpath(path.resolve(), self.target.resolve().parent)).as_posix()))
        except ValueError:  # on another drive
            return path.resolve().as_uri()
