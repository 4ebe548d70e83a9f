"""Summary of a finished `headcats run`: heads of every category, figures of joint methods, and pages."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import xarray as xr

from headcats.base.errors import DataError, HeadcatsError, StorageError, pluralize
from headcats.base.registry import lookup
from headcats.categories.map_spec import MapSpec
from headcats.categories.run_maps import block_title, scored_map
from headcats.cli.answer import Answer
from headcats.cli.console import warn
from headcats.cli.map import draw_map
from headcats.cli.map_answer import short_run
from headcats.cli.map_numbers import map_numbers
from headcats.methods.spec import MethodSpec
from headcats.reports.text.answer import toy_model_warning
from headcats.reports.text.joint_blocks import suite_findings
from headcats.reports.text.maps import map_findings
from headcats.reports.text.short import short_joint
from headcats.reports.text.suggestions import figure_file, quoted_figure_commands
from headcats.results.declaration import approximation_label
from headcats.results.finding import Finding, paragraph
from headcats.results.label import Label
from headcats.results.manifest import Manifest
from headcats.results.place import find_place
from headcats.results.run_results import RunResults


def print_run_summary(
    results: RunResults, specs: Sequence[MethodSpec], folder: Path, answer: Answer, *, viewed: Any = None
) -> None:
    """The heads of every category by the first method, a figure of every joint method, and what to open.

    Attention of the heads is drawn where `viewed`, the model, is there.
    """
    run = results.without_untried()
    manifest, blocks = run.manifest, run.joint_blocks
    answer.numbers = {
        "folder": folder,
        "model": manifest.model.name,
        "suite": manifest.plan.suite,
        "methods": list(manifest.methods),
        "tasks": [
            {"task": name, "category": record.category, "refusal": record.refusal or None}
            for name, record in manifest.tasks.items()
        ],
        "map": None,
        "joint_methods": [],
        "views": [],
    }
    if not all(spec.is_joint for spec in specs):
        _tell_map(run, specs, folder, answer)
    joint = [spec for spec in specs if spec.is_joint and spec.label in blocks]
    if joint and answer.short is None:
        answer.short = short_joint([blocks[spec.label] for spec in joint], warnings=toy_model_warning(manifest.model))
    for spec in joint:
        _tell_joint(blocks[spec.label], manifest, spec, folder, answer)
    mapped = answer.numbers["map"] is not None
    if mapped or joint:
        # Attention is drawn of the heads of categories, which other joint methods have not.
        sorts = mapped or any(spec.method.declaration.selection for spec in joint)
        _tell_pages(folder, answer, viewed=viewed if sorts else None)


def _tell_map(run: RunResults, specs: Sequence[MethodSpec], folder: Path, answer: Answer) -> None:
    manifest, first = run.manifest, next(spec for spec in specs if not spec.is_joint)
    scored = len(run.scored_tasks)
    count = f"{scored} of {pluralize(len(manifest.tasks), 'task')}"
    summary = f"Scored {count} of suite {manifest.plan.suite} on {manifest.model.name}."
    if not scored:
        answer.say([summary])
        return
    result, place = scored_map(run, MapSpec(Label.parse(first.label))), find_place(folder)
    details = f"headcats map {shlex.quote(str(folder))} --details"  # without running anything again
    answer.short = replace(short_run(run, result, place), details=details)
    answer.detail([summary, *map_findings(result)])
    answer.numbers["map"] = map_numbers(result, model=manifest.model.name)
    answer.detail(_further_methods(run, result.spec, {spec.label for spec in specs}, folder))
    option = "" if run.default_label == result.spec.label else f" --method {result.spec.label}"
    hint = "" if result.not_judged else f" Head list: `headcats map {shlex.quote(str(folder))}{option} --csv`"
    page = folder / f"overlap_map{result.suffix}.html"
    draw_map(answer, "overlap_map", result.overlap, page, hint=f".{hint}", title=result.title)


def _further_methods(run: RunResults, reading: MapSpec, labels: set[str], folder: Path) -> list[Finding]:
    """Name the methods that these results hold beside those of this run, and the commands that show them."""
    scored = {
        str(label): approximation_label(run.approximation(label))
        for label in run.scored
        if not run.declarations[str(label)].control_of and label != reading.label
    }
    methods = [f"{label} ({kind})" if kind else label for label, kind in scored.items()]
    methods += run.sorting_methods
    hint = f"Another method can tell another story: `headcats map {shlex.quote(str(folder))} --method NAME`"
    paragraphs = [paragraph("text.plain", text=f"Also scored: {', '.join(methods)}. {hint}")] if methods else []
    for label in run.joint_blocks:
        commands, selection = quoted_figure_commands(run, folder, label), run.declarations[label].selection
        is_map = selection is not None and selection.over == "task"  # which is named among the methods already
        if commands and not is_map and label not in labels:
            text = f"Also there: {label}, a joint method: {commands} draws it."
            paragraphs.append(paragraph("text.plain", text=text))
    return paragraphs


def _tell_joint(block: xr.Dataset, manifest: Manifest, spec: MethodSpec, folder: Path, answer: Answer) -> None:
    from headcats.figures.figure import write

    findings = suite_findings(block)
    answer.detail([paragraph("text.plain", text=f"{spec.label} on {manifest.model.name}"), *findings])
    figure, page = spec.method.declaration.figure, None
    try:
        if figure:
            page = write(lookup("figure", figure)(block, title=block_title(block)), folder / figure_file(block, figure))
            if answer.numbers["map"] is None:
                answer.close(f"Figure: {page}")
            else:
                answer.close(f"{spec.label}: {page}")
    except (DataError, StorageError) as error:
        warn(f"Not drawn: {error}")  # a probe at chance, for example: saved, but nothing to look at
    answer.numbers["joint_methods"].append(
        {"method": spec.label, "sentences": list(map(str, findings)), "figure": page}
    )


def _tell_pages(folder: Path, answer: Answer, *, viewed: Any) -> None:
    """Attention views, then the report, which links them."""
    from headcats.reports.page.writing import report

    if viewed is not None:
        from headcats.reports.attention.writing import write_views

        try:
            pages = write_views(viewed, folder)
            answer.numbers["views"] = [pages.folder / view.file for view in pages.views]
        except StorageError:
            raise
        except HeadcatsError as error:
            # A run of controls alone, or heads that compute no pattern: the results are whole without them.
            warn(f"No attention views: {error}")
    page = report(folder)
    answer.wrote("report", page, f"Open {page} in a browser.")
