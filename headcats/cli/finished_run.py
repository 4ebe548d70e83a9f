"""What `run` says and draws when it is finished."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import xarray as xr

from headcats.categories.reading import Reading, map_tables
from headcats.cli.as_json import Answer
from headcats.cli.console import warn
from headcats.cli.map_numbers import map_numbers
from headcats.errors import DataError, HeadcatsError, StorageError, pluralize
from headcats.figures.figure import write
from headcats.figures.overlap_map import overlap_map
from headcats.methods.spec import MethodSpec
from headcats.registry import lookup
from headcats.reports.text.finding import paragraph
from headcats.reports.text.joint_blocks import suite_findings, suite_title
from headcats.reports.text.maps import map_findings
from headcats.reports.text.suggestions import figure_file, quoted_figure_commands
from headcats.results.declaration import approximation_label
from headcats.results.label import Label
from headcats.results.manifest import Manifest
from headcats.results.tree import (
    approximation_of,
    declarations,
    drop_untried_categories,
    first_exact,
    manifest_of,
    scored_labels,
    suite_blocks,
)


def tell_run(
    results: xr.DataTree, specs: Sequence[MethodSpec], folder: Path, answer: Answer, *, viewed: Any = None
) -> None:
    """The heads of every category by the first method, a picture of every method over the suite, and what to open.

    Args:
        results: What the run returned.
        specs: Methods of this run, in their order.
        folder: Where the results lie.
        answer: What is said goes here.
        viewed: The model, for pages with the attention of the heads; None for none.
    """
    manifest = manifest_of(results)
    results = drop_untried_categories(results)
    blocks = suite_blocks(results)
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
        "suite_methods": [],
        "views": [],
    }
    if not all(spec.of_suite for spec in specs):
        _tell_map(results, manifest, specs, folder, answer)
    there = [spec for spec in specs if spec.of_suite and spec.label in blocks]
    for spec in there:
        _tell_suite(blocks[spec.label], manifest, spec, folder, answer)
    scored = answer.numbers["map"] is not None or bool(there)
    if scored:
        # Heads of categories are looked at; other methods over the suite have none.
        sorts = answer.numbers["map"] is not None or any(spec.method.declaration.sorts_heads for spec in there)
        _tell_pages(folder, answer, viewed=viewed if sorts else None)
    answer.end()


def _tell_map(
    results: xr.DataTree, manifest: Manifest, specs: Sequence[MethodSpec], folder: Path, answer: Answer
) -> None:
    first = next(spec for spec in specs if not spec.of_suite)
    scored = len(manifest.tasks) - len(manifest.skipped())
    of_all = f"{scored} of {pluralize(len(manifest.tasks), 'task')} of suite {manifest.plan.suite}"
    answer.say([f"Scored {of_all} on {manifest.model.name}."])
    if not scored:
        return
    reading = Reading(Label.parse(first.label)).resolve(results)
    tables = map_tables(results, reading)
    answer.say(map_findings(tables, reading))
    answer.numbers["map"] = map_numbers(tables, reading)
    declared = declarations(results)
    more = [
        f"{label} ({kind})" if (kind := approximation_label(approximation_of(results, label))) else str(label)
        for label in scored_labels(results)
        if not declared[str(label)].control_of and label != reading.label
    ]
    joint = list(suite_blocks(results))
    more += [label for label in joint if declared[label].sorts_heads]
    if more:
        hint = f"Another method can tell another story: `headcats map {folder} --method NAME`"
        answer.say([paragraph("text.plain", text=f"Also scored: {', '.join(more)}. {hint}")])
    labels = {spec.label for spec in specs}
    for label in joint:
        if (
            not declared[label].sorts_heads
            and label not in labels
            and (drawn := quoted_figure_commands(results, folder, label))
        ):
            answer.say([paragraph("text.plain", text=f"Also there: {label}, over the whole suite: {drawn} draws it.")])
    option = "" if first_exact(results) == reading.label else f" --method {reading.label}"
    judged = "not_judged" not in tables["members"].attrs
    listing = f" Head list: `headcats map {folder}{option} --csv`" if judged else ""
    page = folder / f"overlap_map{reading.file_suffix(results)}.html"
    answer.wrote("map", write(overlap_map(tables["overlap"], title=reading.title), page), f"Map: {page}.{listing}")


def _tell_suite(block: xr.Dataset, manifest: Manifest, spec: MethodSpec, folder: Path, answer: Answer) -> None:
    said = suite_findings(block)
    answer.say([paragraph("text.plain", text=f"{spec.label} on {manifest.model.name}"), *said])
    figure, drawn = spec.method.declaration.figure, None
    try:
        if figure:
            drawing = lookup("figure", figure)(block, title=suite_title(block))
            drawn = write(drawing, folder / figure_file(block, figure))
            answer.say([f"Figure: {drawn}"])
    except DataError as error:
        warn(f"Not drawn: {error}")  # a probe at chance, for example: saved, but nothing to look at
    answer.numbers["suite_methods"].append({"method": spec.label, "said": list(map(str, said)), "figure": drawn})


def _tell_pages(folder: Path, answer: Answer, *, viewed: Any) -> None:
    """Attention views, then the report, which links them."""
    from headcats.reports.page.writing import report

    if viewed is not None:
        from headcats.reports.attention.writing import write_views

        try:
            made = write_views(viewed, folder)
            answer.numbers["views"] = [made.folder / view.file for view in made.views]
        except StorageError:
            raise
        except HeadcatsError as error:
            # A run of controls alone, or heads that compute no pattern: the results are whole without them.
            warn(f"No attention views: {error}")
    page = report(folder)
    answer.wrote("report", page, f"Open {page} in a browser.")
