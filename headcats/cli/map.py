"""`headcats map`: the heads of every category, and the overlap map. Reads saved results; loads no torch."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headcats.cli.arguments import AsJson, Effect, Folder, Method, Metric, MinTasks, Positions, RuleText, Sign
from headcats.cli.as_json import Answer
from headcats.cli.checks import check_names, note_control, note_unfinished, refuse_unused
from headcats.cli.console import warn
from headcats.defaults import DEFAULT_RULE
from headcats.errors import OptionError, StorageError

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import xarray as xr


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
    from headcats.figures.overlap_map import overlap_map
    from headcats.findings.instead import check_scored
    from headcats.findings.mapping import default_label, file_of, of_run, tables, title, write_heads
    from headcats.findings.maps import map_findings
    from headcats.methods.declaration import registered
    from headcats.results import Label, load, suite_blocks, task_nodes

    check_names(rule, min_tasks, effect, sign)
    chosen: dict[str, Any] = {
        "positions": positions,
        "metric": metric,
        "effect": effect,
        "rule": rule,
        "min_tasks": min_tasks,
        "sign": sign,
    }
    results = of_run(load(folder))
    note_unfinished(results)
    named = (method or next(iter(suite_blocks(results)), "")) if method or not task_nodes(results) else ""
    if named in suite_blocks(results) or registered(Label.parse(named).name).kind == "joint":
        # One relation of a category is enough: so the method is defined.
        met = {"rule"} | ({"min_tasks"} if min_tasks == "1" else set())
        unused = {name: value for name, value in chosen.items() if name not in met}
        _of_suite(results, folder, named, unused=unused, rule=rule, csv=csv, as_json=as_json)
        return
    check_scored(results, folder, method, by="A map")
    note_control(method or default_label(results).name)
    found = tables(results, method=method, undecided=True, **chosen)
    answer = Answer(as_json)
    answer.say(map_findings(found, rule=rule, min_tasks=min_tasks))
    if as_json:
        from headcats.cli.map_numbers import map_numbers

        answer.numbers = map_numbers(found)
    drawn = overlap_map(found["overlap"], title=title(found))
    _draw(answer, drawn, folder / file_of("overlap_map", "html", found, results))
    if csv:
        heads = write_heads(found, results, folder)
        answer.wrote("heads", heads, f"Head list: {heads}")
    answer.end()


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
    unused: Mapping[str, str | None],
    rule: str,
    csv: bool,
    as_json: bool,
) -> None:
    """The map of a joint method that sorts heads.

    Raises:
        OptionError: Another method, or an option that this map does not read.
    """
    from headcats.findings.mapping import categories_tried
    from headcats.findings.suite import figure_commands, joint_block
    from headcats.methods.declaration import declarations, registered
    from headcats.results import Label

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
    refuse_unused(unused, by=f"The map of {method}")
    tried = categories_tried(results, str(block.attrs["label"]))
    _relations(block, folder, rule=rule, csv=csv, tried=tried, as_json=as_json)


def _relations(
    block: "xr.Dataset", folder: Path, *, rule: str, csv: bool, tried: Mapping[str, Sequence[str]], as_json: bool
) -> None:
    """Categories of heads by their weights: what they say, and the map (and the head list) in the folder."""
    from headcats.categories import head_table
    from headcats.file_names import rule_marks
    from headcats.findings.relations import relation_map, threshold_of
    from headcats.findings.suite import figure_file, suite_title
    from headcats.methods.declaration import declaration_of
    from headcats.registry import lookup
    from headcats.results import write_whole
    from headcats.rules.text import parse_rule

    figure = declaration_of(block).figure
    threshold = threshold_of(rule, method=str(block.attrs["method"]))
    shared, findings = relation_map(block, threshold=threshold, tried=tried)
    answer = Answer(as_json)
    answer.say(findings)
    if as_json:
        from headcats.cli.map_numbers import relation_numbers

        answer.numbers = relation_numbers(block, shared, threshold=threshold, tried=tried)
    # What is not the default is in the name, so that no map replaces one by another rule.
    stem = "-".join([figure_file(block, figure).removesuffix(".html"), *rule_marks(repr(parse_rule(rule)))])
    _draw(
        answer, lookup("figure", figure)(block, threshold=threshold, title=suite_title(block)), folder / f"{stem}.html"
    )
    if csv:
        heads = folder / f"heads-{stem}.csv"
        listed = head_table(shared).to_csv(index=False, lineterminator="\n")
        write_whole(heads, listed.encode("utf-8"))
        answer.wrote("heads", heads, f"Head list: {heads}")
    answer.end()
