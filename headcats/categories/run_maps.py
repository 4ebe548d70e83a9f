"""Maps of a run: by scores of tasks, or by a joint method."""

import json
import warnings
from collections.abc import Mapping
from dataclasses import replace

import xarray as xr

from headcats.base.errors import HeadcatsError, OptionError, StatisticsWarning
from headcats.categories.by_block import checked_selection, members_of
from headcats.categories.map_result import SPECIFIC, MapResult, block_title, criteria
from headcats.categories.map_spec import MapSpec, refuse_unused
from headcats.categories.map_tables import kept_judged, kept_map, with_descriptors
from headcats.categories.shared import overlap
from headcats.results.block_files import slug
from headcats.results.declaration import controls_of
from headcats.results.head_axes import noun
from headcats.results.label import Label
from headcats.results.run_results import RunResults
from headcats.results.tables import as_written


def scored_map(run: RunResults, spec: MapSpec, *, jobs: int = 1) -> MapResult:
    """The map by a method that scores tasks, with its tests, and others of its metric and rule that may contradict it.

    Warnings of the requested map are given, and are its `cautions`. Approximations and controls are no maps.
    """
    spec = spec.resolve(run)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", StatisticsWarning)
        mapped = _scored(run, spec, kept_map(run, spec, jobs=jobs))
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    cautions = dict.fromkeys(str(each.message) for each in caught if issubclass(each.category, StatisticsWarning))
    candidates = [replace(spec, effect="task_specific")] if spec.effect == "total" else []
    exact = [label for label in run.scored if not run.declarations[str(label)].control_of and label != spec.label]
    candidates += [
        replace(spec, label=label, effect="total").resolve(run) for label in exact if not run.approximation(label)
    ]
    maps, left_out = list[MapResult](), dict[str, str]()
    for candidate in candidates:
        name = _name(run, candidate)
        if candidate.label.unit != spec.label.unit:
            left_out[name] = f"its effects are of one {noun(candidate.label.unit)} at a time"
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", StatisticsWarning)  # those of the requested map have been given
                maps.append(_scored(run, candidate, kept_judged(run, candidate, jobs=jobs)))
        except HeadcatsError as error:  # no controls, or measured in other metrics alone
            left_out[name] = _skipped_control(run, candidate) or str(error)
    specific = next((each for each in maps if each.spec.effect == "task_specific"), None)
    return replace(
        mapped,
        task_specific=specific,
        others=tuple(each for each in maps if each is not specific),
        left_out=left_out,
        cautions=tuple(cautions),
        longest_list=_longest_list(run),
    )


def judged_map(run: RunResults, spec: MapSpec) -> MapResult:
    """The map by a method that scores tasks, without tests and other maps."""
    spec = spec.resolve(run)
    return _scored(run, spec, kept_judged(run, spec))


def _scored(run: RunResults, spec: MapSpec, tables: Mapping[str, xr.Dataset]) -> MapResult:
    options = spec.options_for(run)
    return MapResult(spec, tables, _name(run, spec), str(spec.label), spec.title, spec.file_suffix(run), options)


def joint_map(run: RunResults, label: str, spec: MapSpec) -> MapResult:
    """The map by a joint method, by its own rule and number of tasks where the spec names none."""
    refuse_unused(spec.options.keys() & {"positions", "metric", "effect"}, by=f"The map of {label}")
    block = run.joint_blocks[label]
    with as_written(f"The block of {label}", again="The same `headcats run`"):
        tables = _joint_tables(run, block, spec)
    suffix = f"-{slug(label)}{MapSpec(rule=spec.rule, sign=spec.sign).judging_suffix}"
    if spec.named_min_tasks not in (None, 1):  # one is what no number means here
        suffix += f"-min_tasks={spec.min_tasks}"
    is_only_one = not run.tasks and run.sorting_methods == [label]
    named = sorted(spec.named | (spec.options.keys() & {"sign"}))
    options = ({} if is_only_one else {"method": label}) | {name: spec.flags[name] for name in named}
    sign = ", suppressing heads" if spec.sign == "suppressing" else ""
    title = f"{block_title(block)}{sign}{criteria(tables['members'])}"
    return MapResult(spec, tables, label, label, title, suffix, options, block, run.tried_categories(label))


def _joint_tables(run: RunResults, block: xr.Dataset, spec: MapSpec) -> dict[str, xr.Dataset]:
    selection, label = checked_selection(block), block.attrs["label"]
    if spec.sign == "suppressing" and not selection.suppressing:
        raise OptionError(f"{label} ranks heads by {selection.text}, so none is suppressing: leave out --sign.")
    groups = set(block[selection.group].values.astype(str).tolist())
    if "categories" in block.attrs:  # the others would stand empty
        entries = [entry for entry in json.loads(block.attrs["categories"]) if entry["name"] in groups]
        block = block.assign_attrs(categories=json.dumps(entries, ensure_ascii=False))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)  # the finding "saturates" says the same
        members = members_of(block, selection, rule=spec.named_rule, min_tasks=spec.named_min_tasks)
    return {"members": members, "overlap": with_descriptors(overlap(members, sign=spec.sign), run.descriptors)}


def _longest_list(run: RunResults) -> int | None:
    tasks = run.manifest_or_empty.tasks
    records = [tasks[name] for name in run.scored_tasks if name in tasks]
    rows = [record.rows.kept for record in records if record.word_pairs.kept is None]
    counts = [n for n in rows if n is not None]
    return max(counts) if counts and len(counts) == len(records) else None


def _skipped_control(run: RunResults, reading: MapSpec) -> str:
    """Why a run skipped the control that task-specific effects are made with; "" where it did not, or they are none."""
    control = controls_of(reading.label.name).get("task") if reading.effect == "task_specific" else None
    cells = run.manifest_or_empty.cells()
    refusals = [record.refusal for _, label, record in cells if Label.parse(label).name == control and record.refusal]
    return f"{control} was skipped: {refusals[0]}" if refusals else ""


def _name(run: RunResults, reading: MapSpec) -> str:
    """The method in words; with options and positions where the run has the method in several ways."""
    label = reading.label
    alike = [scored for scored in run.scored if scored.name == label.name]
    name = str(label) if len(alike) > 1 else label.name.replace("_", " ")
    return f"{name}{SPECIFIC}" if reading.effect == "task_specific" else name
