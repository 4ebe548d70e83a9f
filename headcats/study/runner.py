"""`hc.run`: score every head on every task of a suite, into a results folder that can be resumed and extended."""

import contextlib
import json
import logging
import os
import time
from collections.abc import Iterator, Sequence
from typing import Any

import xarray as xr

from headcats.errors import DataError, PlanError
from headcats.methods.causal import CausalMethod
from headcats.methods.spec import MethodSpec
from headcats.methods.task_inputs import TaskInputs
from headcats.models import HookedModel, check_clean_unchanged, check_hooks, check_model, check_residual, load_model
from headcats.results import ResultsFolder, load, tree
from headcats.study.assessment import base_runs
from headcats.study.estimate import memory_plan, other_paths, paths_used
from headcats.study.manifest import block_fingerprint, categories, check_same_plan, new_manifest, versions
from headcats.study.plan import DEFAULT_METHODS, REFERENCE_PROMPTS, Study, check_options, plan
from headcats.study.preparation import Preparation, Prepared
from headcats.study.progress import Advance, progress_bar
from headcats.study.validation import task_entry
from headcats.sweeps.batch_sweep import announce
from headcats.sweeps.paths import check_path
from headcats.sweeps.runs import BaseRuns
from headcats.tasks import Suite, Task

# As many as a plain `headcats run` scores within 3 minutes on 2 cores.
DEFAULT_PROMPTS = 64
_CHECKED_PROMPTS = 2

_log = logging.getLogger("headcats")


def run(
    model: Any,
    *,
    suite: str | Suite | Task | Sequence[Task | str] = "icl",
    methods: Sequence[str] = DEFAULT_METHODS,
    n_prompts: int = DEFAULT_PROMPTS,
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
    path: str = "auto",
    memory: str | int | None = None,
    **options: Any,
) -> xr.DataTree:
    """Score every head of a model on every task of a suite.

    A task is refused, and listed with the reason, if the model is right on fewer than half of the clean prompts, if the
    corrupted prompts leave no clear gap, or if no prompt can be written; the others go on.

    Args:
        model: What `hc.load_model` returns, a HookedTransformer, a TransformerBridge, or a name or folder to load.
        suite: Name of a suite, a `Suite`, or a list of tasks and task names.
        methods: Methods as `name[:option=value][@positions]`, such as "denoising_patch",
            "mean_ablation:reference=task", "noising_patch@all". Positions default to the method's own.
        n_prompts: Scored prompts per task; 100 more per task are kept apart as reference (a task that has fewer is
            named in a warning).
        seed: Seed of prompts and references. Every random stream derives from it by name, so the order of tasks and
            methods does not matter.
        out: Results folder; None keeps everything in memory. A killed run goes on where it stopped; more tasks or
            methods extend the folder; another model, seed, n_prompts, template or corruption is refused.
        progress: Show a progress bar; None looks whether anybody is there to see it.
        path: "auto" takes the fastest path that is exact on the model, "hooked" the reference (see `hc.sweep`). The
            results folder records which one ran, and what its self-check found.
        memory: Limit beside the model's weights, such as "4GB"; None takes half of what is free. The estimate is
            logged before anything is scored.
        **options: `tasks` (names of the tasks to score; the suite's others remain distractors and reference), `metrics`
            (the first decides on the gap; default `["logit_diff"]`, with shuffled labels `["log_prob"]`), `n_demos`
            (5), `template` ("arrow"), `corruption` ("other_task" or "shuffled_labels").

    Returns:
        As `hc.load`: one node `/<task>/<method@positions>` per block with `patched (metric, prompt, layer, head)`,
        `clean` and `corrupted (metric, prompt)` in the metric's own unit.

    Raises:
        UnknownNameError: A name that does not exist; the message lists near matches.
        OptionError: A number out of range, or a memory limit that cannot be read or that nothing fits into.
        PlanError: `out` holds results of another plan; the message names every difference.
        StorageError: `out` cannot be read or written.
        ModelError: The model cannot be loaded or trusted.
        DataError: No task is left; the message gives the reason for each.
        TypeError: An option that does not exist.

    Example:
        >>> import headcats as hc
        >>> results = hc.run("mini", methods=["denoising_patch"], tasks=["country_capital"], n_prompts=4)
        >>> results["country_capital"]["denoising_patch@last"].patched.dims
        ('metric', 'prompt', 'layer', 'head')
    """
    check_options(options)
    check_path(path)
    study = plan(suite_source=suite, methods=methods, n_prompts=n_prompts, seed=seed, **options)
    adapted = load_model(model)
    folder = None if out is None else ResultsFolder(out)
    stored = None if folder is None else folder.read_manifest()
    if stored is not None and folder is not None:
        check_same_plan(stored, adapted, study, folder=folder.path)
        folder.remove_leftovers()
    manifest = stored or new_manifest(adapted, study)
    manifest["methods"] = list(dict.fromkeys([*manifest["methods"], *(spec.label for spec in study.methods)]))
    # What was asked for tells a run that was stopped from one that is finished.
    manifest["asked"] = list(dict.fromkeys([*manifest.get("asked", []), *(task.name for task in study.tasks)]))
    known = {category["name"] for category in manifest["categories"]}
    manifest["categories"] += [entry for entry in categories(study) if entry["name"] not in known]
    manifest["checks"]["model"] = check_model(adapted)
    work = _Work(adapted, study, folder, manifest, path=path, memory=memory)
    if expected := memory_plan(adapted, study, work.preparation, limit=memory, path=path):
        _log.info("Memory: %s.", expected.describe())
    heads = sum(adapted.n_heads.values())
    with progress_bar(heads * len(study.tasks) * len(study.methods), show=progress) as advance:
        for task in study.tasks:
            work.score_task(task, advance)
    work.report_refusals()
    labels = [spec.label for spec in study.methods]
    for line in paths_used(manifest, labels):
        _log.info("%s", line)
    if path != "auto" and (others := other_paths(manifest, labels, path)):
        _log.warning(
            "path=%r did nothing for %s: scored before by another path, or no sweep at all. Choose another folder to "
            "score it that way.",
            path,
            ", ".join(others),
        )
    return load(folder.path) if folder is not None else tree(work.blocks, manifest)


class _Work:
    """A run under way: the manifest grows with every finished block."""

    def __init__(
        self,
        model: HookedModel,
        study: Study,
        folder: ResultsFolder | None,
        manifest: dict[str, Any],
        *,
        path: str,
        memory: str | int | None,
    ) -> None:
        self.model = model
        self.path = path
        self.memory = memory
        self.study = study
        self.folder = folder
        self.manifest = manifest
        self.preparation = Preparation(model, study)
        self.blocks: dict[tuple[str, str], xr.Dataset] = {}
        self.heads = sum(model.n_heads.values())

    def score_task(self, task: Task, advance: Advance) -> None:
        """All methods of the study on one task; blocks that exist and fit are left as they are."""
        prepared = self.preparation.prepared[task.name]
        missing = list(self._missing(prepared))
        advance(self.heads * (len(self.study.methods) - len(missing)), task.name)
        # The checks are saved last: without them a run was stopped in this task, however many blocks it has.
        if not missing and task.name in self.manifest["checks"]:
            return
        runs = base_runs(self.model, prepared, memory=self.memory)
        self._announce(runs, [spec for spec, _ in missing])
        entry = task_entry(self.study, prepared, runs)
        if entry["refusal"]:
            self._save(task, entry)
            advance(self.heads * len(missing), task.name)
            return
        first = prepared.scored[0].select(range(min(_CHECKED_PROMPTS, len(prepared.scored[0]))))
        checks = {
            "hooks": check_hooks(self.model, first.clean, first.corrupted),
            "residual": check_residual(self.model, first.clean, first.corrupted),
        }
        before = self.model.logits(first.clean)
        self._save(task, entry)
        for spec, fingerprint in missing:
            self._score(prepared, runs, spec, fingerprint, advance)
        checks["clean_unchanged"] = check_clean_unchanged(self.model, first.clean, before)
        self.manifest["checks"][task.name] = checks
        self._save(task, entry)

    def report_refusals(self) -> None:
        """One log record that lists what is not scored and why; an error when that is everything."""
        names = [task.name for task in self.study.tasks]
        reasons = {name: entry["refusal"] for name in names if (entry := self.manifest["tasks"][name])["refusal"]}
        listed = "\n".join(f"  {name}: {reason}" for name, reason in reasons.items())
        if len(reasons) == len(names):
            raise DataError(
                f"No task of suite {self.study.suite.name!r} can be scored on {self.model.name!r}:\n{listed}"
            )
        few = {
            name: self.preparation.prepared[name].references.kept
            for name in self.preparation.prepared
            if self.preparation.prepared[name].references.kept < REFERENCE_PROMPTS
        }
        if few and any("reference" in spec.method.options for spec in self.study.methods):
            counts = ", ".join(f"{name} ({count})" for name, count in few.items())
            _log.warning(
                "%d tasks have fewer than %d reference prompts; those with none are missing from means: %s",
                len(few),
                REFERENCE_PROMPTS,
                counts,
            )
        if reasons:
            _log.warning("%d of %d tasks are not scored:\n%s", len(reasons), len(names), listed)
        for name in names:
            for label, entry in self.manifest["blocks"].get(name, {}).items():
                if "refusal" in entry:
                    _log.warning("%s is not scored on task %s: %s", label, name, entry["refusal"])

    def _score(
        self, prepared: Prepared, runs: tuple[BaseRuns, ...], spec: MethodSpec, fingerprint: str, advance: Advance
    ) -> None:
        name, started = prepared.task.name, time.monotonic()
        share = len(prepared.scored)
        done = 0

        def step(heads: int) -> None:
            nonlocal done
            before, done = done // share, done + heads
            advance(done // share - before, f"{name} {spec.label}")

        inputs = TaskInputs(
            runs, self.study.metrics, lambda kind: self.preparation.reference(name, kind), step, self.path
        )
        entry: dict[str, Any] = {"fingerprint": fingerprint}
        try:
            block = spec.method.on_task(inputs, positions=spec.positions, **dict(spec.options))
        except DataError as error:
            self.manifest["blocks"].setdefault(name, {})[spec.label] = {**entry, "refusal": str(error)}
            return
        block = block.assign_attrs(fingerprint=fingerprint)
        entry |= json.loads(block.attrs["provenance"]) | {"seconds": round(time.monotonic() - started, 3)}
        if dropped := int(block.attrs["dropped"]):
            entry["dropped"] = dropped
            why = getattr(spec.method, "why_dropped", "left out")
            _log.warning("%s on task %s: %d prompts %s", spec.label, name, dropped, why)
        if versions() != self.manifest["versions"]:
            entry["versions"] = versions()
        self.manifest["blocks"].setdefault(name, {})[spec.label] = entry
        if self.folder is None:
            self.blocks[name, spec.label] = block
        else:
            self.folder.write_block(name, spec.label, block)
            self.folder.write_manifest(self.manifest)

    def _announce(self, runs: tuple[BaseRuns, ...], specs: list[MethodSpec]) -> None:
        """Tell the unpatched runs what the methods will ask of them, so that each is made once."""
        for spec in specs:
            if isinstance(spec.method, CausalMethod):
                for one in runs:
                    with contextlib.suppress(DataError):  # roles that do not align: refused by the sweep itself
                        announce(one, spec.method.intervention, positions=spec.positions, path=self.path)

    def _missing(self, prepared: Prepared) -> Iterator[tuple[MethodSpec, str]]:
        """Methods whose block is not there yet.

        Raises:
            PlanError: A block is there that was made with other prompts, because the suite itself has changed.
        """
        for spec in self.study.methods:
            fingerprint = self._fingerprint(prepared, spec)
            block = None if self.folder is None else self.folder.read_block(prepared.task.name, spec.label)
            if block is None:
                yield spec, fingerprint
            elif block.attrs.get("fingerprint") != fingerprint:
                assert self.folder is not None
                path = self.folder.block_path(prepared.task.name, spec.label)
                raise PlanError(
                    f"{path} was made with other prompts or reference prompts than "
                    f"task {prepared.task.name!r} has now: suite {self.study.suite.name!r} (its tasks or word pairs) "
                    "or the tokenizer has changed. Name another folder with --out (out=...)."
                )
            else:
                # A run that was stopped between writing the block and the manifest.
                entry = {"fingerprint": fingerprint, **json.loads(block.attrs["provenance"])}
                self.manifest["blocks"].setdefault(prepared.task.name, {}).setdefault(spec.label, entry)

    def _fingerprint(self, prepared: Prepared, spec: MethodSpec) -> str:
        return block_fingerprint(
            prompts=[batch.fingerprint() for batch in prepared.scored],
            reference=self.preparation.also_read(prepared.task.name, spec),
            label=spec.label,
            metrics=self.study.metrics,
        )

    def _save(self, task: Task, entry: dict[str, Any]) -> None:
        self.manifest["tasks"][task.name] = entry
        # Nothing is written before there is something to keep: a run whose tasks are all refused leaves no folder.
        if self.folder is not None and not all(one["refusal"] for one in self.manifest["tasks"].values()):
            self.folder.write_manifest(self.manifest)
