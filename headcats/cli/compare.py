"""`headcats compare`: what a map depends on."""

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from headcats.base.errors import DataError
from headcats.categories.map_spec import MapSpec
from headcats.cli.answer import Answer
from headcats.cli.arguments import AsJson, Details, MinTasks, RuleText, Sign, Sources
from headcats.cli.console import warn
from headcats.evidence.comparison.agreement import agreement, method_agreement, pairs
from headcats.evidence.comparison.method_grid import method_scores
from headcats.evidence.comparison.protocols import judge_protocols
from headcats.evidence.comparison.runs import Runs, read_runs
from headcats.figures.colours import listed_colours
from headcats.reports.page.several.compared import compare_runs
from headcats.reports.text.agreement import (
    agreement_findings,
    judged_sizes,
    replicate_findings,
    replicates,
    short_protocols,
)
from headcats.reports.text.comparison import (
    agreeing,
    membership_table,
    method_findings,
    plan_findings,
    short_methods,
    sureness,
)
from headcats.reports.text.revisions import differing_finding, differing_table, effect_changes
from headcats.reports.text.suggestions import check_scored, quoted_figure_commands
from headcats.results.finding import Short, line
from headcats.results.run_results import RunResults, place_of

_SHOWN = 20
_METHOD = "Only this method; default: all."
_METRIC = "Only this metric; default: all."
_CSV = "Write the numbers as a table to this file, and the grid of all methods beside it, as NAME-methods.csv."
_KEYS = ("differences", "protocols", "left_out", "pairs", "replicated", "changed", "differs", "methods")


def compare_command(
    folders: Sources,
    method: Annotated[str | None, typer.Option("--method", help=_METHOD)] = None,
    positions: Annotated[str | None, typer.Option("--positions", help="Only these positions; default: all.")] = None,
    metric: Annotated[str | None, typer.Option("--metric", help=_METRIC)] = None,
    rule: RuleText = None,
    min_tasks: MinTasks = None,
    sign: Sign = "helping",
    csv: Annotated[Path | None, typer.Option("--csv", help=_CSV)] = None,
    details: Details = False,
    as_json: AsJson = False,
) -> None:
    """Compare the heads of each category between protocols or results.

    One folder: between all methods, positions and metrics it holds, and, if it holds joint methods, between all methods
    on one grid of heads. Several folders of one model: between all they hold. Either way also which heads are in a
    category under all protocols, or under any. Two folders of models of one shape: a base and what was tuned of it,
    which heads change their category, in how many resamples they are in it, and whether their effects differ. Heads of
    other models do not correspond: `headcats report` puts their maps side by side.

    Examples:
    - `headcats compare results/mini-icl`
    - `headcats compare results/mini-icl --details`
    - `headcats compare results/mini-icl --method mean_ablation`
    - `headcats compare results/seed0 results/seed1 --csv pairs.csv`
    - `headcats compare results/base results/tuned`

    Keys of `--json`: `differences` (of several folders: part of plan or model, or `tasks` -> value in each);
    `protocols` (`protocol`, and `heads`: category -> how many, null where it is not judged); `left_out`; `pairs` (of
    protocols, `first` and `second`, which `differ_in` something, by `category` and `sign`: `jaccard`, `expected`,
    `spearman`, and of the `n_heads` that both have judged those in it: `heads_first`, `heads_second`, `both`);
    `replicated` (`category`, `judged_by` how many protocols, heads that `always` or `any` of them have);
    `changed` (of a base and a tuned model: `head`, `category`, `moves`, and by run `verdicts`, `effects`,
    `probabilities`: shares of resamples; `n_changes` calls that differ and were tested, `n_found` with a difference);
    `differs` (`layer`, `head`, `category`, `difference` of the mean effect, tuned minus base, `low`, `high`, `q`);
    `methods` (`method` and `other` by `group` of heads: `rank_correlation`, `layer_correlation`); `sentences`;
    `files`. What does not apply is null.
    """
    reading = MapSpec.parse(
        method=method, positions=positions, metric=metric, rule=rule, min_tasks=min_tasks, sign=sign
    )
    runs = read_runs(folders, by="headcats compare")
    for run in () if runs.alone else runs.values():
        check_scored(run, method, by="`headcats compare` of several folders")
    answer = Answer(as_json, details=details)
    answer.numbers = dict.fromkeys(_KEYS)
    for name, first in runs.copies.items():
        reason = str(line("several.left_out", name=name, reason=line("several.copy", first=first)))
        if len(runs) < 2:
            raise DataError(reason)
        warn(reason)
    if len(runs) > 1:
        answer.detail(plan_findings(runs))
        answer.numbers["differences"] = {
            part: dict(zip(runs, values, strict=True)) for part, values in runs.differences.items()
        }
    tuned = runs.as_tuned()
    runs = tuned or runs
    alone, tables = runs.alone, dict[str, pd.DataFrame]()
    if alone is not None and not alone.tasks:
        try:
            tables[""] = _compare_methods(alone, metric, answer)
        except DataError as error:
            drawn_by = quoted_figure_commands(alone)
            raise DataError(f"{error} To look at what there is: {drawn_by}." if drawn_by else str(error)) from None
    else:
        if alone is not None:
            check_scored(alone, method, by="`headcats compare` with --method")
        tables[""] = (_compare_protocols if tuned is None else _compare_tuned)(runs, reading, answer)
        if alone is not None and alone.joint_blocks and method is None:
            tables["-methods"] = _compare_methods(alone, metric, answer)
    if csv is not None:
        paths = {suffix: csv.with_name(f"{csv.stem}{suffix}{csv.suffix}") for suffix in tables}
        message = f"Numbers: {' and '.join(map(str, paths.values()))}"
        for suffix, path in paths.items():
            answer.write_table(f"csv{suffix.replace('-', '_')}", tables[suffix], path, "" if suffix else message)
    answer.end()


def _compare_protocols(runs: Runs, reading: MapSpec, answer: Answer) -> pd.DataFrame:
    """Agreement of all protocols, and the heads that they share."""
    protocols = judge_protocols(runs, reading)
    table = agreement(protocols.members, sign=reading.sign)
    compared = pairs(table)
    answer.detail(agreement_findings(table, protocols.left_out))
    answer.detail(replicate_findings(protocols.members, sign=reading.sign))
    answer.numbers |= {
        "protocols": [
            {"protocol": name, "heads": {category: sizes.get(name) for category, sizes in judged_sizes(table).items()}}
            for name in table["protocol"].values.tolist()
        ],
        "left_out": protocols.left_out,
        "pairs": compared,
        "replicated": replicates(protocols.members, sign=reading.sign),
    }
    answer.short = short_protocols(
        table,
        protocols.members,
        protocols.left_out,
        differing=list(runs.differences),
        next_command=f"headcats report {shlex.quote(str(runs.series or place_of(next(iter(runs.values())))))}",
        colours=listed_colours(next(iter(protocols.members.values()))),
    )
    return compared


def _compare_tuned(runs: Runs, reading: MapSpec, answer: Answer) -> pd.DataFrame:
    """Heads of a base model and of what was made of it: those that change, and whose effects differ."""
    compared = compare_runs(runs, reading)
    rows = sorted(compared.memberships, key=lambda each: not each.moves)
    base, made = runs
    verdict = [line("several.tuned", base=base, tuned=made, method=compared.name), *agreeing(rows, n_runs=2)]
    answer.numbers["changed"] = [{**asdict(each), "moves": each.moves} for each in rows]
    answer.detail([membership_table(rows, list(runs), method=compared.name)])
    if compared.changes is not None:
        differing = effect_changes(compared.changes)
        answer.numbers["differs"] = differing
        verdict += [sureness(compared.changes), differing_finding(differing, compared.changes)]
        answer.detail([differing_table(differing)] if len(differing) else [])
    answer.detail(verdict)
    listed = membership_table(rows[:_SHOWN], list(runs), method=compared.name)
    folders = " ".join(shlex.quote(str(place_of(run))) for run in runs.values())
    colours = listed_colours(compared.overlaps[base])
    answer.short = Short(tuple(verdict), lambda most: listed, (), (), f"headcats report {folders}", colours)
    return pd.json_normalize(answer.numbers["changed"])


def _compare_methods(run: RunResults, metric: str | None, answer: Answer) -> pd.DataFrame:
    """Compare all methods on one grid of heads."""
    table = method_agreement(method_scores(run.tree, metric=metric))
    if answer.short is None:  # no task is scored
        answer.short = short_methods(table, next_command=f"headcats report {shlex.quote(str(place_of(run)))}")
    answer.detail(method_findings(table))
    columns = ["rank_correlation", "layer_correlation"]
    answer.numbers["methods"] = table[columns].reset_coords(drop=True).to_dataframe().reset_index()
    return answer.numbers["methods"]
