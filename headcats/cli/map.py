"""`headcats map`: the heads of every category, and the overlap map."""

import contextlib
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
import xarray as xr

from headcats.categories.every_head import every_head
from headcats.categories.map_tables import kept_map
from headcats.categories.membership import head_table
from headcats.categories.reading import Reading
from headcats.categories.run_maps import run_maps
from headcats.cli import arguments
from headcats.cli.agreed import select_both
from headcats.cli.answer import Answer
from headcats.cli.console import note_control, note_unfinished, warn
from headcats.cli.map_answer import short_run
from headcats.cli.map_numbers import both_numbers, joint_numbers, map_numbers
from headcats.cli.series import map_training
from headcats.errors import DataError, OptionError, StorageError
from headcats.evidence.comparison.runs import read_runs
from headcats.registry import lookup
from headcats.reports.text.answer import of_a_toy
from headcats.reports.text.joint_blocks import block_findings
from headcats.reports.text.maps import count_findings, map_findings
from headcats.reports.text.selected import Selected, select_joint
from headcats.reports.text.short_joint import both_table, short_block, short_both
from headcats.reports.text.suggestions import check_scored, sorting_label
from headcats.results.place import Place
from headcats.results.run_results import RunResults, place_of
from headcats.statistics.in_threads import check_jobs

_EVERY = 10_000  # heads of a cell of the details
_JOBS = "Threads for scoring; of use with large models. Later commands on the same results take what is kept."
_ALL = "With --csv: list every head and category in DIR/heads-all.csv, not the members alone."
_CSV = "Write the head list to DIR/heads.csv, with non-default options in its name."


def map_command(
    folder: arguments.Source,
    method: arguments.Method = None,
    positions: arguments.Positions = None,
    metric: arguments.Metric = None,
    effect: arguments.Effect = "total",
    rule: arguments.RuleText = None,
    min_tasks: arguments.MinTasks = None,
    sign: arguments.Sign = "helping",
    other: arguments.SecondMethod = None,
    csv: Annotated[bool, typer.Option("--csv", help=_CSV)] = False,
    all_heads: Annotated[bool, typer.Option("--all", help=_ALL)] = False,
    details: arguments.Details = False,
    jobs: Annotated[int, typer.Option("--jobs", help=_JOBS)] = 1,
    as_json: arguments.AsJson = False,
) -> None:
    """List the heads of every category, and draw the overlap map as a page in DIR (of results on the hub, in ./NAME).

    Of a series (`headcats run --revisions`): the heads of every category at every revision, and which come and go.

    Examples:
    - `headcats map results/mini-icl --details`
    - `headcats map results/mini-icl --csv --all`
    - `headcats map results/mini-icl --method mean_ablation --rule fdr:alpha=0.01,min_effect=0.1`
    - `headcats map results/mini-icl --effect task_specific --sign suppressing`
    - `headcats map results/mini-icl --method mean_ablation --sign suppressing`
    - `headcats map results/mini-icl --method denoising_patch --and mean_ablation`
    - `headcats map results/mini-icl --json`
    - `headcats map hf://owner/name`

    Keys of `--json`: `method`, `positions`, `metric`, `effect`, `rule`, `min_tasks`, `sign`, `model`; `not_judged` (why
    the rule can judge no head, or null); `categories` (`category`, `tasks`, `tasks_needed`, `judged`, `heads`,
    `heads_without_effect`: how many the rule finds on average if no head has any, `undecided`, and where heads share
    keys and values `kv_pairs`, the pairs of members that do, `kv_pairs_expected`, `kv_pairs_p`, `kv_pairs_q`); `heads`
    (`head`, `category`, `kind`, where heads share keys and values `kv_head`, `effect`, `low`, `high`, `q`, `tasks`, and
    where known `specific`, the task-specific effect, `probability`, `doubtful`, `approximation`; over the category's
    tasks `mean_effect`, its intervals `these_tasks_low`, `these_tasks_high` for these tasks and `new_task_low`,
    `new_task_high` for a new one, and `task_sd`, the spread between tasks; and what the head does (see
    `hc.describe_heads`): `previous_token`, `duplicate_token`, `induction`, `first_token`, `entropy`, `distance`,
    `copying`, `direct_logit`); `shared` (heads in exactly `k` categories: `observed`, the bounds `observed_least` and
    `observed_most` as undecided heads may turn out, `expected`, `p`, `expected_within_layers`, `p_within_layers`);
    `overlap` (`jaccard` of `category` and `other`, with the interval `jaccard_low`, `jaccard_high` and the bounds
    `jaccard_least`, `jaccard_most`); `reach` (what the data can show); `sentences`; `files`. Of a joint method,
    `categories` count `relations` and name those `skipped`, and `relations` lists each (`pairs`, `null`, `threshold`,
    `heads`, `largest_score`). With `--and`, `and` is the second method, and `categories` have the heads in both, the
    sizes `first` and `other`, `by_chance` and its `p`. Of a series, `revisions` has of each `revision` its `step`, the
    tasks that are `skipped` and why, and `categories` (`category`, `tasks`, `skipped`, `heads` and `undecided`, null
    where not judged, and the heads that it `comes` to have and that it loses, `goes`: `head`, `difference` of the mean
    effect, `q`, `found`).
    `files` has `map` null where the folder cannot be written; `missing`, of a single run, are files that are damaged or
    gone, and why.
    """
    reading = Reading.parse(
        method=method, positions=positions, metric=metric, effect=effect, rule=rule, min_tasks=min_tasks, sign=sign
    )
    check_jobs(jobs)
    if all_heads and not csv:
        raise OptionError("--all is about the head list: headcats map --csv --all.")
    answer = Answer(as_json, details=details)
    runs = read_runs(folder, by="headcats map")
    if (run := runs.alone) is None:
        if all_heads:
            raise OptionError("--all lists the heads of one run: name the folder of a revision.")
        map_training(runs, reading, csv=csv, answer=answer)
        return
    place = place_of(run)
    note_unfinished(run)
    if all_heads and other is not None:
        raise OptionError("--all lists effects of every head by one method: leave out --and.")
    if other is not None:
        _map_both(run, place, select_both(run, place, reading, other), csv=csv, answer=answer)
        return
    if (label := sorting_label(run, place, method)) is not None:
        if all_heads:
            raise OptionError(f"--all lists effects of every head, and {label} has none: leave it out.")
        selected = select_joint(run, label, reading)
        _map_joint(run, place, selected, reading=reading, csv=csv, answer=answer)
        return
    check_scored(run, place, method, by="A map")
    reading = reading.resolve(run)
    note_control(reading.label)
    tables: Mapping[str, xr.Dataset]
    if as_json:
        tables = kept_map(run, reading, jobs=jobs)
    else:
        maps = run_maps(run, reading, jobs=jobs)
        tables, answer.short = maps.mapped.tables, short_run(run, maps, place)
    answer.detail(map_findings(tables, reading))
    answer.numbers = map_numbers(tables, reading) | {"missing": run.missing}
    suffix = reading.file_suffix(run)
    draw_map(answer, "overlap_map", tables["overlap"], place.pages / f"overlap_map{suffix}.html", title=reading.title)
    if csv:
        listed = every_head(tables["overlap"]) if all_heads else head_table(tables["overlap"])
        _write_heads(answer, listed, place.pages / f"heads{suffix}{'-all' * all_heads}.csv")
    answer.end()


def draw_map(
    answer: Answer, figure: str, table: xr.Dataset, page: Path, *, hint: str = "", **options: str | float
) -> None:
    """The map as a page; where it cannot be written, as in results of others, a note, and the numbers all the same."""
    from headcats.figures.figure import write

    with contextlib.suppress(OSError):
        page.parent.mkdir(exist_ok=True)  # of results on the hub; `write` says what is wrong
    try:
        answer.wrote("map", write(lookup("figure", figure)(table, **options), page), f"Map: {page}", hint=hint)
    except (StorageError, DataError) as error:  # of a full disk, or of more categories than colours tell apart
        warn(f"There is no page with the map: {error}")
        answer.wrote("map", None)


def _write_heads(answer: Answer, heads: pd.DataFrame, path: Path) -> None:
    answer.write_table("heads", heads, path, f"Head list: {path}")


def _map_joint(
    run: RunResults, place: Place, selected: Selected, *, reading: Reading, csv: bool, answer: Answer
) -> None:
    """The map of a joint method that sorts heads."""
    from headcats.figures.colours import listed_colours  # with plotly, which completion does without

    (label,), tables = selected.names, selected.tables
    block, tried = run.joint_blocks[label], run.tried_categories(label)
    has_others = len(run.joint_blocks) + len(run.scored) > 1
    answer.short = short_block(
        run,
        selected,
        warnings=of_a_toy(run.manifest.model),
        next_command=f"headcats compare {shlex.quote(str(place))} --details" if has_others else "",
        colours=listed_colours(tables["overlap"]),
    )
    answer.detail(block_findings(block, tables, rule=reading.named_rule, tried=tried))
    answer.numbers = joint_numbers(block, tables, rule=reading.named_rule, tried=tried) | {"missing": run.missing}
    _write_map(selected, place, csv=csv, answer=answer)


def _map_both(run: RunResults, place: Place, selected: Selected, *, csv: bool, answer: Answer) -> None:
    """The map of heads that two methods agree on."""
    from headcats.figures.colours import listed_colours

    (first, other), members, shared = selected.names, selected.tables["members"], selected.tables["overlap"]
    answer.short = short_both(
        selected.tables,
        (first, other),
        warnings=of_a_toy(run.manifest.model),
        next_command=f"headcats compare {shlex.quote(str(place))} --details",
        colours=listed_colours(shared),
    )
    answer.detail([both_table(members, shared, (first, other), most=_EVERY), *count_findings(shared)])
    answer.numbers = both_numbers(members, shared, names=(first, other), model=run.manifest.model.name)
    answer.numbers["missing"] = run.missing
    _write_map(selected, place, csv=csv, answer=answer)


def _write_map(selected: Selected, place: Place, *, csv: bool, answer: Answer) -> None:
    shared, suffix = selected.tables["overlap"], selected.suffix
    draw_map(answer, "overlap_map", shared, place.pages / f"overlap_map{suffix}.html", title=selected.title)
    if csv:
        _write_heads(answer, head_table(shared), place.pages / f"heads{suffix}.csv")
    answer.end()
