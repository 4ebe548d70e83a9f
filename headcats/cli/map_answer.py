"""The short answer of a run from its folder: with the test that lies in it, and the command that comes next."""

import os
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import xarray as xr

from headcats.categories.map_result import MapResult
from headcats.reports.page.material import Material
from headcats.reports.text.answer import corruptions, other_tests, prompts_lacking, prompts_wanted, toy_model_warning
from headcats.reports.text.short import Short, short_map
from headcats.reports.text.suggestions import repeat_command
from headcats.results.finding import Finding, line
from headcats.results.head_axes import HEAD, unit_of
from headcats.results.place import Place
from headcats.results.records import TaskRecord
from headcats.results.run_results import RunResults


def short_run(run: RunResults, result: MapResult, place: Place, evidence: xr.DataTree | None = None) -> Short:
    """The short answer of `headcats run`, `map` and `evidence`; without `evidence`, with the tests that are saved."""
    from headcats.figures.colours import listed_colours  # with plotly, which completion does without

    toy, colours = toy_model_warning(run.manifest_or_empty.model), listed_colours(result.overlap)
    if not result.is_scored:
        has_others = result.block is None or len(run.joint_blocks) + len(run.scored) > 1
        more = f"headcats compare {shlex.quote(str(place))} --details" if has_others else ""
        return short_map(result, warnings=toy, next_command=more, colours=colours)
    material = Material(run, result, place, target=Path())
    tested = tuple(material.evidence) if evidence is None else (evidence,)
    return short_map(
        replace(result, evidence=tested),
        foremost=corruptions(run),
        warnings=_warnings(material),
        next_command=_next_command(material, place),
        colours=colours,
    )


def _warnings(material: Material) -> Iterator[Finding]:
    """Cautions that only the folder knows."""
    yield from other_tests(material.tested)
    yield from material.not_tested()
    if skipped := len(material.run.manifest_or_empty.tasks) - len(material.run.scored_tasks):
        yield line("answer.skipped", n=skipped)
    yield from toy_model_warning(material.run.manifest_or_empty.model)


def _scored(material: Material) -> list[TaskRecord]:
    tasks = material.run.manifest_or_empty.tasks
    return [tasks[name] for name in material.run.scored_tasks if name in tasks]


def _next_command(material: Material, place: Place) -> str:
    """More prompts where single heads cannot be told apart; else the test, the comparison, the page."""
    mapped, manifest = material.tested, material.run.manifest_or_empty
    if mapped.not_judged and (n := prompts_wanted(mapped)) and not prompts_lacking(mapped):
        folder = Path("NEW_DIR") if place.on_hub or not place.folder.name else Path(f"{place.folder}-{n}")
        wanted = replace(manifest, plan=replace(manifest.plan, n_prompts=n))
        more = repeat_command(wanted, results=None if place.on_hub else place.folder)
        return f"{more} --out {shlex.quote(os.fspath(folder))}" if more.startswith("headcats") else more
    # Of a list of prompts that was scored whole, none are left to test heads on.
    records = _scored(material)
    has_prompts = not records or any(not record.is_used_up for record in records)
    testable = mapped.spec.sign == "helping" and unit_of(mapped.overlap) == HEAD and has_prompts
    name, options = "report", ["method", "metric", "effect", "rule", "min-tasks", "sign"]
    if testable and not material.evidence and mapped.inside.any() and not place.on_hub:
        name, options = "evidence", options[:3]
    elif not mapped.not_judged and not place.on_hub and not material.robustness.contents:
        name, options = "compare", options[3:]
    values = mapped.options
    chosen = "".join(f" --{key} {shlex.quote(values[key])}" for key in options if key in values)
    return f"headcats {name} {shlex.quote(str(place))}{chosen}"
