"""The answer on a map of a run: in short, with the command that comes next, and as the numbers of JSON."""

import contextlib
import shlex
from pathlib import Path
from typing import Any

import xarray as xr

from headcats.base.errors import DataError, StorageError
from headcats.categories.map_result import CategoryHeads, MapResult
from headcats.categories.membership import head_table
from headcats.cli.answer import Answer
from headcats.cli.console import warn
from headcats.figures.colours import listed_colours
from headcats.reports.page.material import Material
from headcats.reports.text.answer import toy_model_warning
from headcats.reports.text.short import short_map
from headcats.results.finding import Short, line
from headcats.results.head_axes import HEAD, unit_of
from headcats.results.run_results import RunResults, place_of

_JACCARD = ["jaccard", "jaccard_low", "jaccard_high"]


def short_run(run: RunResults, result: MapResult, evidence: xr.DataTree | None = None) -> Short:
    """The short answer of `headcats run`, `map` and `evidence`; without `evidence`, with the tests that are saved."""
    toy, colours = toy_model_warning(run.manifest_or_empty.model), listed_colours(result.overlap)
    if not result.is_scored:
        has_others = len(run.joint_blocks) + len(run.scored) > 1
        more = f"headcats compare {shlex.quote(str(place_of(run)))} --details" if has_others else ""
        return short_map(result, warnings=toy, next_command=more, colours=colours)
    material = Material(run, result, Path(), test=evidence)
    skipped = len(run.manifest_or_empty.tasks) - len(run.scored_tasks)
    warnings = [*material.doubts(), *([line("answer.skipped", n=skipped)] if skipped else [])]
    return short_map(material.tested, warnings=warnings, next_command=_next_command(material), colours=colours)


def _next_command(material: Material) -> str:
    """The test, or the page."""
    mapped, place = material.tested, place_of(material.run)
    # Of a list of prompts that was scored whole, none are left to test heads on.
    records = material.run.scored_records.values()
    has_prompts = not records or any(not record.is_used_up for record in records)
    testable = mapped.spec.sign == "helping" and unit_of(mapped.overlap) == HEAD and has_prompts
    name, options = "report", ["method", "metric", "effect", "rule", "min-tasks", "sign"]
    if testable and not material.evidence and mapped.inside.any() and not place.on_hub:
        name, options = "evidence", options[:3]
    values = mapped.options
    chosen = "".join(f" --{key} {shlex.quote(values[key])}" for key in options if key in values)
    return f"headcats {name} {shlex.quote(str(place))}{chosen}"


def map_numbers(result: MapResult, *, model: str) -> dict[str, Any]:
    """Numbers of a map, as `headcats map --help` says."""
    about, more = dict[str, Any](method=result.name), dict[str, Any]()
    if result.is_scored:
        spec = result.spec
        about = {"method": spec.label.method, "positions": spec.label.positions, "metric": spec.metric}
        about |= {"effect": spec.effect, "min_tasks": str(spec.min_tasks)}
        tests = result.tables["sharing"]
        sharing = {str(name): number.item() for name, number in tests.data_vars.items()}
        more = {"sharing": sharing}
    return {
        **about,
        "rule": result.tables["members"].attrs["rule"],
        "sign": result.sign,
        "model": model,
        "not_judged": result.not_judged or None,
        "categories": _categories(result),
        **_overlap(result.overlap),
        **more,
    }


def _categories(result: MapResult) -> list[dict[str, Any]]:
    """Every category; of a joint method also those of which all tasks were skipped."""
    of_map = [category.name for category in result.categories]
    skipped = [CategoryHeads(name, 0, 0, False, (), (), 0, 0, None) for name in result.tried if name not in of_map]
    return [
        {
            "category": category.name,
            "tasks": category.n_tasks,
            "tasks_needed": category.min_tasks,
            "judged": category.judged,
            "heads": category.size,
            "heads_without_effect": category.expected,
            "undecided": category.n_undecided,
            "skipped": result.tried.get(category.name, ()),
        }
        for category in (*result.categories, *skipped)
    ]


def _overlap(shared: xr.Dataset) -> dict[str, Any]:
    """Heads, how many are in exactly k categories, and the Jaccard index of every two categories."""
    names = shared["category"].values.tolist()
    indices = shared[[name for name in _JACCARD if name in shared]].reset_coords(drop=True)
    pairs = indices.to_dataframe(dim_order=["category", "other"]).reset_index()
    heads = head_table(shared).to_dict("records")
    return {
        "heads": [
            {str(key): value for key, value in row.items()}
            | {"tasks": [name for name in row["tasks"].replace(" ", "").split(",") if name]}
            for row in heads
        ],
        "shared": shared[["observed"]].reset_coords(drop=True).to_dataframe().reset_index(),
        "overlap": pairs[pairs["category"].map(names.index) < pairs["other"].map(names.index)],
    }


def draw_map(answer: Answer, result: MapResult, folder: Path, *, hint: str = "") -> None:
    """The map as a page; where it cannot be written, as in results of others, a note, and the numbers all the same."""
    from headcats.figures.figure import write
    from headcats.figures.overlap_map import overlap_map

    page = folder / f"overlap_map{result.suffix}.html"
    with contextlib.suppress(OSError):
        folder.mkdir(exist_ok=True)  # of results on the hub; `write` says what is wrong
    try:
        answer.wrote("map", write(overlap_map(result.overlap, title=result.title), page), f"Map: {page}", hint=hint)
    except (StorageError, DataError) as error:  # of a full disk, or of more categories than colours tell apart
        warn(f"There is no page with the map: {error}")
        answer.wrote("map", None)
