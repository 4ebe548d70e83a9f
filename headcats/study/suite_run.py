"""Methods that judge heads over a whole suite, part by part: what is finished stays, the next run goes on from it."""

import json
import logging
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import xarray as xr

from headcats.errors import DataError, PlanError
from headcats.methods.spec import MethodSpec
from headcats.methods.suite_inputs import SuiteInputs
from headcats.models import HookedModel
from headcats.results import SUITE, ResultsFolder, join_parts
from headcats.study.manifest import suite_fingerprint, versions
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
        pairs={name: found for name, found in pairs.items() if isinstance(found[0], tuple)},
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

    def __init__(
        self, model: HookedModel, study: Study, folder: ResultsFolder | None, manifest: dict[str, Any]
    ) -> None:
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
        entries = self._entries(spec)
        # Also those of which every part is refused.
        about = self.manifest["blocks"][SUITE][spec.label]
        about["tasks"] = about.get("tasks", {}) | dict(self.inputs.categories)
        for part, stored in done.items():
            # A run that was stopped between writing the part and the manifest.
            entries.setdefault(part, {"fingerprint": str(stored.attrs["fingerprint"])})
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

    def refusals(self) -> dict[str, dict[str, str]]:
        """Method -> part -> why it was refused."""
        entries = self.manifest["blocks"].get(SUITE, {})
        found = {
            spec.label: {
                part: entry["refusal"]
                for part, entry in entries.get(spec.label, {}).get("parts", {}).items()
                if "refusal" in entry
            }
            for spec in self.study.suite_methods
        }
        return {label: parts for label, parts in found.items() if parts}

    def _entries(self, spec: MethodSpec) -> dict[str, Any]:
        blocks = self.manifest["blocks"].setdefault(SUITE, {})
        return blocks.setdefault(spec.label, {"parts": {}})["parts"]

    def _make(
        self, spec: MethodSpec, part: str, fingerprint: str, advance: Callable[..., None], clock: PartsClock
    ) -> xr.Dataset | None:
        started, reached = time.monotonic(), 0
        clock.begin()

        def step(share: float, what: str) -> None:
            nonlocal reached
            clock.reached(part, share)
            now = round(min(max(share, 0.0), 1.0) * _STEPS)
            advance(max(0, now - reached), f"{spec.label} {part} {what}".strip())
            reached = max(reached, now)

        entries = self._entries(spec)
        entries[part] = {"fingerprint": fingerprint}
        try:
            block = spec.method.on_part(self.inputs.reporting(step), part, **dict(spec.options))
        except DataError as error:
            entries[part]["refusal"] = str(error)
            self._write_manifest()
            return None
        finally:
            advance(_STEPS - reached, f"{spec.label} {part}")
        entries[part]["seconds"] = round(time.monotonic() - started, 3)
        if versions() != self.manifest["versions"]:
            entries[part]["versions"] = versions()
        block = block.assign_attrs(fingerprint=fingerprint)
        if self.folder is not None:
            self.folder.write_part(spec.label, part, block)
        return block

    def _save(self, spec: MethodSpec) -> None:
        """The finished parts as one block, those that were asked for first."""
        asked, done = self._work[spec.label]
        parts = {part: done[part] for part in dict.fromkeys([*asked, *self._entries(spec)]) if part in done}
        categories = json.dumps(self.manifest["categories"], ensure_ascii=False)
        joined = join_parts(spec.method, parts, categories=categories, model=self.inputs.model.name)
        if self.folder is None:
            self.blocks[SUITE, spec.label] = joined.assign_attrs(task=SUITE, label=spec.label)
        else:
            self.folder.write_block(SUITE, spec.label, joined)
            self._write_manifest()

    def _write_manifest(self) -> None:
        # Nothing is written before there is something to keep.
        if self.folder is not None and (self.folder.path / "blocks").exists():
            self.folder.write_manifest(self.manifest)


def report_refused_parts(work: SuiteWork) -> None:
    """One log record per method on the parts that were refused, and why.

    Raises:
        DataError: Nothing at all was scored, on no task either.
    """
    refused = work.refusals()
    listed = "\n".join(line for label, reasons in refused.items() for line in _reasons(label, reasons))
    parts = [entry for method in work.manifest["blocks"].get(SUITE, {}).values() for entry in method["parts"].values()]
    scored = [entry for entry in [*parts, *work.manifest["tasks"].values()] if not entry.get("refusal")]
    if refused and not scored:
        raise DataError(f"Nothing can be scored on {work.inputs.model.name!r}:\n{listed}")
    if refused:
        _log.warning("%d of %d parts are not scored:\n%s", sum(map(len, refused.values())), len(parts), listed)


def _reasons(label: str, reasons: Mapping[str, str]) -> list[str]:
    """One line per reason: parts that were refused alike, but for numbers, are named together."""
    alike: dict[str, dict[str, str]] = {}
    for part, reason in reasons.items():
        alike.setdefault(_NUMBER.sub("#", reason), {})[part] = reason
    lines = []
    for found in alike.values():
        first, *others = found
        reason = found[first]
        if len(set(found.values())) == 1:
            counted = f" ({len(found)} parts)" if others else ""
            lines.append(f"  {label} {', '.join(found)}{counted}: {reason}")
        else:
            lines.append(f"  {label} {first}: {reason} Alike, with other numbers: {', '.join(others)}.")
    return lines
