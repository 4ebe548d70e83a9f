"""Joint methods, part by part: what is finished stays, the next run goes on from it."""

import json
import logging
import re
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

import xarray as xr

from headcats.base.errors import DataError
from headcats.base.guard import working_on
from headcats.methods.method import SuiteInputs
from headcats.methods.spec import MethodSpec
from headcats.models.adapter import HookedModel
from headcats.results.manifest import SUITE
from headcats.results.merging import join_parts
from headcats.results.records import BlockRecord, JointRecord
from headcats.study.identity import conditions_since, fingerprint
from headcats.study.output import Output
from headcats.study.plan import Study
from headcats.study.progress import PartsClock, progress_bar

_STEPS = 100  # of the progress bar, per part
_NUMBER = re.compile(r"\d+(\.\d+)?")

_log = logging.getLogger("headcats")


class _Parts(NamedTuple):
    """Parts of one method: fingerprints of those of this run, in their order, and the finished ones."""

    fingerprints: dict[str, str]
    done: dict[str, xr.Dataset]


def suite_inputs(model: HookedModel, study: Study) -> SuiteInputs:
    """Inputs of the joint methods of a study."""
    pairs = {task.name: [pair for pair in study.pairs[task.name] if isinstance(pair, tuple)] for task in study.tasks}
    return SuiteInputs(
        model=model,
        tasks=study.tasks,
        categories={task.name: study.suite.category_of(task).name for task in study.tasks},
        pairs={name: words for name, words in pairs.items() if words},
        template=study.template,
        n_demos=study.n_demos,
        n_prompts=study.n_prompts,
        seed=study.seed,
    )


class JointWork:
    """The joint methods of a run under way; a PlanError if the folder holds a part that was made from other tasks."""

    def __init__(self, model: HookedModel, study: Study, output: Output) -> None:
        self.study = study
        self.output = output
        self.manifest = output.manifest
        self.inputs = suite_inputs(model, study)
        self._parts = {spec.label: self._read_parts(spec) for spec in study.joint_methods}

    def _read_parts(self, spec: MethodSpec) -> _Parts:
        study = self.study
        plan = [study.seed, study.n_prompts, study.n_demos, study.template.name]
        parts = list(spec.method.parts(self.inputs, **dict(spec.options)).items())
        fingerprints = {
            part: fingerprint(spec.label, part, plan, {task: list(self.inputs.pairs[task]) for task in tasks})
            for (part, tasks), _ in study.deal(parts, [spec])
        }
        return _Parts(fingerprints, self.output.parts(spec.label, fingerprints=fingerprints))

    def score_parts(self, progress: bool | None) -> None:
        """All parts of all joint methods, one after the other."""
        for spec in self.study.joint_methods:
            if self._parts[spec.label].fingerprints or self.study.is_whole:
                self._score(spec, show=progress)
        self._report_skipped()

    def _score(self, spec: MethodSpec, *, show: bool | None) -> None:
        """Every part of one method that is missing; the block keeps finished parts that this run does not ask for."""
        fingerprints, done = self._parts[spec.label]
        # A run may have been stopped between writing a part and its record.
        stored = {part: BlockRecord(str(block.attrs["fingerprint"])) for part, block in done.items()}
        record = self._record(spec)
        # A part whose file is damaged, and which this run does not make again, is not in the block any more.
        kept = {part: entry for part, entry in record.parts.items() if entry.refusal or part in {*done, *fingerprints}}
        # Recorded even if every part is skipped.
        self.manifest.joint_blocks[spec.label] = JointRecord(
            parts={**kept, **stored, **kept}, tasks={**record.tasks, **self.inputs.categories}
        )
        if done:
            self._save(spec)
        amount = getattr(spec.method, "work", lambda inputs, part, **options: 1.0)
        work = {
            part: float(amount(self.inputs, part, **dict(spec.options))) for part in fingerprints if part not in done
        }
        with progress_bar(_STEPS * len(fingerprints), show=show, unit="%") as advance:
            clock = PartsClock(spec.label, work, total=len(fingerprints), tell=None if show is False else _log.info)
            advance(_STEPS * (len(fingerprints) - len(work)), spec.label)
            for part in work:
                if (block := self._score_part(spec, part, advance, clock)) is not None:
                    done[part] = block
                    self._save(spec)
                clock.finished(part, skipped=block is None)

    def _score_part(
        self, spec: MethodSpec, part: str, advance: Callable[..., None], clock: PartsClock
    ) -> xr.Dataset | None:
        started, reached = time.monotonic(), 0
        mark = self._parts[spec.label].fingerprints[part]
        clock.begin()

        def step(share: float, label: str) -> None:
            nonlocal reached
            clock.reached(part, share)
            steps = max(reached, round(min(max(share, 0.0), 1.0) * _STEPS))
            advance(steps - reached, f"{spec.label} {part} {label}".strip())
            reached = steps

        try:
            with working_on(f"part {part!r}"):
                block = spec.method.on_part(self.inputs.reporting(step), part, **dict(spec.options))
        except DataError as error:
            self._keep(spec, part, BlockRecord(mark, refusal=str(error)))
            self.output.save_manifest()
            return None
        finally:
            advance(_STEPS - reached, f"{spec.label} {part}")
        seconds = round(time.monotonic() - started, 3)
        block = block.assign_attrs(fingerprint=mark)
        # Before its record: a manifest names nothing that is not there.
        self.output.keep_part(spec.label, part, block)
        self._keep(spec, part, BlockRecord(mark, seconds=seconds, versions=conditions_since(self.manifest)))
        return block

    def _record(self, spec: MethodSpec) -> JointRecord:
        return self.manifest.joint_blocks.get(spec.label, JointRecord())

    def _keep(self, spec: MethodSpec, part: str, entry: BlockRecord) -> None:
        record = self._record(spec)
        self.manifest.joint_blocks[spec.label] = replace(record, parts={**record.parts, part: entry})

    def _save(self, spec: MethodSpec) -> None:
        """The finished parts as one block, those of this run first."""
        fingerprints, done = self._parts[spec.label]
        parts = {part: done[part] for part in dict.fromkeys([*fingerprints, *self._record(spec).parts]) if part in done}
        categories = json.dumps(self.manifest.category_entries(), ensure_ascii=False)
        joined = join_parts(spec.method, parts, categories=categories, model=self.inputs.model.name)
        self.output.keep_block(SUITE, spec.label, joined)

    def _report_skipped(self) -> None:
        """One log record on the parts that were skipped, and why; a DataError if all of a whole run are."""
        reasons = {spec.label: self._record(spec).skipped() for spec in self.study.joint_methods}
        n_skipped = sum(map(len, reasons.values()))
        lines = "\n".join(line for label, parts in reasons.items() for line in _reason_lines(label, parts))
        parts = [entry for record in self.manifest.joint_blocks.values() for entry in record.parts.values()]
        nothing = all(entry.refusal for entry in parts) and len(self.manifest.skipped()) == len(self.manifest.tasks)
        if n_skipped and nothing and self.study.is_whole:
            raise DataError(f"Nothing can be scored on {self.inputs.model.name!r}:\n{lines}")
        if n_skipped:
            _log.warning("%d of %d parts are skipped:\n%s", n_skipped, len(parts), lines)


def _reason_lines(label: str, reasons: Mapping[str, str]) -> list[str]:
    """One line per reason; parts whose reasons differ in numbers alone share one."""
    groups: dict[str, dict[str, str]] = defaultdict(dict)
    for part, reason in reasons.items():
        groups[_NUMBER.sub("#", reason)][part] = reason
    lines = []
    for group in groups.values():
        first, *rest = group
        if len(set(group.values())) == 1:
            count = f" ({len(group)} parts)" if rest else ""
            lines.append(f"  {label} {', '.join(group)}{count}: {group[first]}")
        else:
            lines.append(f"  {label} {first}: {group[first]} Alike, with other numbers: {', '.join(rest)}.")
    return lines
