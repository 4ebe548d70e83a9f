"""Joint methods, part by part: what is finished stays, the next run goes on from it."""

import json
import logging
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

import xarray as xr

from headcats.errors import DataError, PlanError
from headcats.methods.joint.inputs import SuiteInputs
from headcats.methods.spec import MethodSpec
from headcats.models.adapter import HookedModel
from headcats.results.folder import BLOCKS, ResultsFolder
from headcats.results.manifest import SUITE, Manifest
from headcats.results.merging import join_parts
from headcats.results.records import JointRecord, PartRecord
from headcats.study.manifest import suite_fingerprint, versions_since
from headcats.study.parts_clock import PartsClock
from headcats.study.plan import Study
from headcats.study.progress import progress_bar

# Pairs asked of a task that generates them, as many as the prompts of a study are made from.
_POOL = 1024
_STEPS = 100  # of the progress bar, per part
_NUMBER = re.compile(r"\d+(\.\d+)?")

_log = logging.getLogger("headcats")


class _Begun(NamedTuple):
    """One method: fingerprints of the parts that are asked for, in their order, and the parts that are there."""

    fingerprints: dict[str, str]
    done: dict[str, xr.Dataset]


def suite_inputs(model: HookedModel, study: Study) -> SuiteInputs:
    """What the methods of a study that judge heads over the whole suite read."""
    pairs = {task.name: task.pairs(_POOL, seed=study.seed) for task in study.tasks}
    return SuiteInputs(
        model=model,
        tasks=study.tasks,
        categories={task.name: study.suite.category_of(task).name for task in study.tasks},
        pairs={name: words for name, words in pairs.items() if isinstance(words[0], tuple)},
        template=study.template,
        n_demos=study.n_demos,
        n_prompts=study.n_prompts,
        seed=study.seed,
    )


class SuiteWork:
    """The suite methods of a run under way.

    Raises:
        PlanError: A part is there that was made from other tasks. It is looked for before anything is scored.
    """

    def __init__(self, model: HookedModel, study: Study, folder: ResultsFolder | None, manifest: Manifest) -> None:
        self.study = study
        self.folder = folder
        self.manifest = manifest
        self.blocks: dict[tuple[str, str], xr.Dataset] = {}
        self.inputs = suite_inputs(model, study)
        self._work = {spec.label: self._begun(spec) for spec in study.suite_methods}

    def _begun(self, spec: MethodSpec) -> _Begun:
        """Raises PlanError: a part is there that was made from other tasks."""
        reads = spec.method.parts(self.inputs, **dict(spec.options))
        fingerprints = {
            part: suite_fingerprint(self.study, spec.label, part, {task: self.inputs.pairs[task] for task in tasks})
            for part, tasks in reads.items()
        }
        stored = {} if self.folder is None else self.folder.read_parts(spec.label)
        for part, fingerprint in fingerprints.items():
            if part in stored and stored[part].attrs.get("fingerprint") != fingerprint:
                assert self.folder is not None
                raise PlanError(
                    f"{self.folder.part_path(spec.label, part)} was made from other tasks, word pairs or prompts than "
                    "this run has now. Name another folder with --out (out=...)."
                )
        return _Begun(fingerprints, stored)

    def score(self, spec: MethodSpec, *, show: bool | None) -> None:
        """Every part of one method that is not there yet. What is there stays in the block, asked for or not."""
        fingerprints, done = self._work[spec.label]
        # Parts without a record: a run was stopped between writing the part and the manifest.
        stored = {part: PartRecord(str(block.attrs["fingerprint"])) for part, block in done.items()}
        record = self._record(spec)
        # Recorded even where every part is skipped.
        self.manifest.joint_blocks[spec.label] = JointRecord(
            parts=dict(record.parts) | {part: entry for part, entry in stored.items() if part not in record.parts},
            tasks={**record.tasks, **self.inputs.categories},
        )
        if done:
            self._save(spec)
        missing = {part: self._work_of(spec, part) for part in fingerprints if part not in done}
        tell = _log.info if show is not False else None
        with progress_bar(_STEPS * len(fingerprints), show=show, unit="%") as advance:
            clock = PartsClock(spec.label, missing, of=len(fingerprints), tell=tell)
            for part, fingerprint in fingerprints.items():
                if part in done:
                    advance(_STEPS, f"{spec.label} {part}")
                    continue
                block = self._make(spec, part, fingerprint, advance, clock)
                if block is not None:
                    done[part] = block
                    self._save(spec)
                clock.finished(part, refused=block is None)

    def _work_of(self, spec: MethodSpec, part: str) -> float:
        work = getattr(spec.method, "work", None)
        return float(work(self.inputs, part, **dict(spec.options))) if work else 1.0

    def skipped(self) -> dict[str, dict[str, str]]:
        """Method -> part -> why it was skipped."""
        reasons = {spec.label: self._record(spec).skipped() for spec in self.study.suite_methods}
        return {label: parts for label, parts in reasons.items() if parts}

    def _record(self, spec: MethodSpec) -> JointRecord:
        return self.manifest.joint_blocks.get(spec.label, JointRecord())

    def _keep(self, spec: MethodSpec, part: str, entry: PartRecord) -> None:
        record = self._record(spec)
        self.manifest.joint_blocks[spec.label] = replace(record, parts={**record.parts, part: entry})

    def _make(
        self, spec: MethodSpec, part: str, fingerprint: str, advance: Callable[..., None], clock: PartsClock
    ) -> xr.Dataset | None:
        started, reached = time.monotonic(), 0
        clock.begin()

        def step(share: float, label: str) -> None:
            nonlocal reached
            clock.reached(part, share)
            now = round(min(max(share, 0.0), 1.0) * _STEPS)
            advance(max(0, now - reached), f"{spec.label} {part} {label}".strip())
            reached = max(reached, now)

        try:
            block = spec.method.on_part(self.inputs.reporting(step), part, **dict(spec.options))
        except DataError as error:
            self._keep(spec, part, PartRecord(fingerprint, refusal=str(error)))
            self._write_manifest()
            return None
        finally:
            advance(_STEPS - reached, f"{spec.label} {part}")
        seconds = round(time.monotonic() - started, 3)
        self._keep(spec, part, PartRecord(fingerprint, seconds=seconds, versions=versions_since(self.manifest)))
        block = block.assign_attrs(fingerprint=fingerprint)
        if self.folder is not None:
            self.folder.write_part(spec.label, part, block)
        return block

    def _save(self, spec: MethodSpec) -> None:
        """The finished parts as one block, those that were asked for first."""
        fingerprints, done = self._work[spec.label]
        order = dict.fromkeys([*fingerprints, *self._record(spec).parts])
        parts = {part: done[part] for part in order if part in done}
        categories = json.dumps(self.manifest.category_entries(), ensure_ascii=False)
        joined = join_parts(spec.method, parts, categories=categories, model=self.inputs.model.name)
        if self.folder is None:
            self.blocks[SUITE, spec.label] = joined.assign_attrs(task=SUITE, label=spec.label)
        else:
            self.folder.write_block(SUITE, spec.label, joined)
            self._write_manifest()

    def _write_manifest(self) -> None:
        # Nothing is written before there is something to keep.
        if self.folder is not None and (self.folder.path / BLOCKS).exists():
            self.folder.write_manifest(self.manifest)


def report_skipped_parts(work: SuiteWork) -> None:
    """One log record on the parts that were skipped, and why.

    Raises:
        DataError: Nothing at all was scored, on no task either.
    """
    skipped = work.skipped()
    lines = "\n".join(line for label, reasons in skipped.items() for line in _reasons(label, reasons))
    parts = [entry for record in work.manifest.joint_blocks.values() for entry in record.parts.values()]
    nothing = all(entry.refusal for entry in parts) and len(work.manifest.skipped()) == len(work.manifest.tasks)
    if skipped and nothing:
        raise DataError(f"Nothing can be scored on {work.inputs.model.name!r}:\n{lines}")
    if skipped:
        _log.warning("%d of %d parts are not scored:\n%s", sum(map(len, skipped.values())), len(parts), lines)


def _reasons(label: str, reasons: Mapping[str, str]) -> list[str]:
    """One line per reason; parts whose reasons differ in numbers alone share one."""
    alike: dict[str, dict[str, str]] = {}
    for part, reason in reasons.items():
        alike.setdefault(_NUMBER.sub("#", reason), {})[part] = reason
    lines = []
    for group in alike.values():
        first, *rest = group
        if len(set(group.values())) == 1:
            count = f" ({len(group)} parts)" if rest else ""
            lines.append(f"  {label} {', '.join(group)}{count}: {group[first]}")
        else:
            lines.append(f"  {label} {first}: {group[first]} Alike, with other numbers: {', '.join(rest)}.")
    return lines
