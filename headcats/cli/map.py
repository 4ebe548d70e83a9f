"""`headcats map`: the heads of every category, and the overlap map. Reads saved results; loads no torch."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headcats.cli.arguments import AsJson, Effect, Folder, Method, Metric, MinTasks, Positions, RuleText, Sign
from headcats.cli.as_json import Answer
from headcats.cli.checks import note_control, note_unfinished, refuse_unused
from headcats.cli.console import warn
from headcats.errors import OptionError, StorageError
from headcats.study.defaults import DEFAULT_RULE

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import xarray as xr

    from headcats.categories.reading import Reading
    from headcats.rules import Rule


def map_command(
    folder: Folder,
    method: Method = None,
    positions: Positions = None,
    metric: Metric = None,
    effect: Effect = "total",
    rule: RuleText = DEFAULT_RULE,
    min_tasks: MinTasks = "half",
    sign: Sign = "helping",
    csv: Annotated[
        bool,
        typer.Option("--csv", help="Write the head list to DIR/heads.csv (what is not the default is in the name)."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """The heads of every category, and the overlap map as a page in DIR.

    Examples:
    - `headcats map results/mini-icl --csv`
    - `headcats map results/mini-icl --method mean_ablation --rule fdr:alpha=0.01,min_effect=0.1`
    - `headcats map results/mini-icl --effect task_specific --sign suppressing`
    - `headcats map results/mini-icl --json`

    Keys of `--json`: `method`, `positions`, `metric`, `effect`, `rule`, `min_tasks`, `sign`, `model`; `not_judged` (why
    the rule can judge no head, or null); `categories` (`category`, `tasks`, `tasks_needed`, `judged`, `heads`,
    `heads_without_effect`: how many the rule finds on average if no head has any, `undecided`); `heads` (`head`,
    `category`, `kind`, `effect`, `low`, `high`, `q`, `tasks`, and where known `specific`, the task-specific effect,
    `probability`, `approximation`); `shared` (heads in exactly `k` categories: `observed`, `expected`, `p`,
    `expected_within_layers`, `p_within_layers`); `overlap` (`jaccard` of `category` and `other`, with `jaccard_low` and
    `jaccard_high`); `reach` (what the data can show); `said` (the sentences); `files`. Of ov_relation, `categories`
    count `relations` and name those `refused`, and `relations` lists each (`pairs`, `null`, `threshold`, `heads`,
    `largest_score`). `files` has `map` null where the folder cannot be written.
    """
    from headcats.categories.reading import Reading, map_tables
    from headcats.figures.overlap_map import overlap_map
    from headcats.reports.text.maps import map_findings
    from headcats.reports.text.suggestions import check_scored
    from headcats.results.declaration import registered
    from headcats.results.folder import load
    from headcats.results.label import Label
    from headcats.results.tree import drop_untried_categories, suite_blocks, task_nodes

    reading = Reading.parse(
        method=method,
        positions=positions,
        metric=metric,
        effect=effect,
        rule=rule,
        min_tasks=min_tasks,
        sign=sign,
    )
    results = drop_untried_categories(load(folder))
    note_unfinished(results)
    joint = method or ("" if task_nodes(results) else next(iter(suite_blocks(results)), ""))
    if joint in suite_blocks(results) or registered(Label.parse(joint).name).kind == "joint":
        _of_suite(results, folder, joint, reading=reading, csv=csv, as_json=as_json)
        return
    check_scored(results, folder, method, by="A map")
    reading = reading.resolve(results)
    note_control(reading.label)
    tables = map_tables(results, reading)
    answer = Answer(as_json)
    answer.say(map_findings(tables, reading))
    if as_json:
        from headcats.cli.map_numbers import map_numbers

        answer.numbers = map_numbers(tables, reading)
    suffix = reading.file_suffix(results)
    _draw(answer, overlap_map(tables["overlap"], title=reading.title), folder / f"overlap_map{suffix}.html")
    if csv:
        _write_heads(answer, tables["overlap"], folder / f"heads{suffix}.csv")
    answer.end()


def _write_heads(answer: Answer, shared: "xr.Dataset", path: Path) -> None:
    from headcats.categories.head_list import head_table
    from headcats.results.whole_file import write_whole

    text = head_table(shared).to_csv(index=False, lineterminator="\n")
    write_whole(path, text.encode("utf-8"))
    answer.wrote("heads", path, f"Head list: {path}")


def _draw(answer: Answer, drawn: "go.Figure", page: Path) -> None:
    """The map as a page; where it cannot be written, as in results of others, a note, and the numbers all the same."""
    from headcats.figures.figure import write

    try:
        answer.wrote("map", write(drawn, page), f"Map: {page}")
    except StorageError as error:
        warn(f"There is no page with the map: {error}")
        answer.wrote("map", None)


def _of_suite(
    results: "xr.DataTree",
    folder: Path,
    method: str,
    *,
    reading: "Reading",
    csv: bool,
    as_json: bool,
) -> None:
    """The map of a joint method that sorts heads.

    Raises:
        OptionError: Another method, or an option that this map does not read.
    """
    from headcats.reports.text.joint_blocks import joint_block
    from headcats.reports.text.suggestions import figure_commands
    from headcats.results.declaration import registered
    from headcats.results.label import Label
    from headcats.results.tree import declarations, tried_categories

    name = Label.parse(method).name
    declared = [about for label, about in declarations(results).items() if Label.parse(label).name == name]
    about = next(iter(declared), registered(name))
    if not about.sorts_heads:
        drawn = " or ".join(f"`{line}`" for line in figure_commands(results, folder, method))
        raise OptionError(
            f"{method} sorts no heads into categories, so there is no map of it"
            + (f"; {drawn} draws it." if drawn else ", and these results hold no such method either.")
        )
    block = joint_block(results, about.figure, method=method)
    assert block is not None  # it is held, or an error names how to get it
    # One relation of a category is enough: so the method is defined.
    met = {"method", "rule"} | ({"min-tasks"} if reading.min_tasks == 1 else set())
    refuse_unused([name for name in reading.options if name not in met], by=f"The map of {method}")
    tried = tried_categories(results, str(block.attrs["label"]))
    _relations(block, folder, rule=reading.rule, csv=csv, tried=tried, as_json=as_json)


def _relations(
    block: "xr.Dataset", folder: Path, *, rule: "Rule", csv: bool, tried: Mapping[str, Sequence[str]], as_json: bool
) -> None:
    """Categories of heads by their weights: what they say, and the map (and the head list) in the folder."""
    from headcats.categories.reading import Reading
    from headcats.registry import lookup
    from headcats.reports.text.joint_blocks import suite_title
    from headcats.reports.text.relations import relation_map, threshold_of
    from headcats.reports.text.suggestions import figure_file
    from headcats.results.declaration import declaration_of

    figure = declaration_of(block).figure
    threshold = threshold_of(rule, method=str(block.attrs["method"]))
    shared, findings = relation_map(block, threshold=threshold, tried=tried)
    answer = Answer(as_json)
    answer.say(findings)
    if as_json:
        from headcats.cli.map_numbers import relation_numbers

        answer.numbers = relation_numbers(block, shared, threshold=threshold, tried=tried)
    stem = figure_file(block, figure).removesuffix(".html") + Reading(rule=rule).judging_suffix
    drawing = lookup("figure", figure)(block, threshold=threshold, title=suite_title(block))
    _draw(answer, drawing, folder / f"{stem}.html")
    if csv:
        _write_heads(answer, shared, folder / f"heads-{stem}.csv")
    answer.end()
