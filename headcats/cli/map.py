"""`headcats map`: the heads of every category, and the overlap map."""

import contextlib
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
import xarray as xr

from headcats.categories.described import with_descriptors
from headcats.categories.every_head import every_head
from headcats.categories.map_tables import kept_map
from headcats.categories.membership import head_table
from headcats.categories.reading import Reading
from headcats.categories.run_maps import run_maps
from headcats.cli import arguments
from headcats.cli.answer import Answer
from headcats.cli.console import note_control, note_unfinished, warn
from headcats.cli.map_answer import short_run
from headcats.cli.series import map_revisions
from headcats.errors import DataError, OptionError, StorageError
from headcats.registry import lookup
from headcats.reports.text.answer import of_a_toy
from headcats.reports.text.joint_blocks import relation_map, suite_title, threshold_of
from headcats.reports.text.maps import map_findings
from headcats.reports.text.short_joint import short_relations
from headcats.reports.text.suggestions import check_scored, figure_file, joint_block, quoted_figure_commands
from headcats.results.declaration import Declaration, registered
from headcats.results.label import Label
from headcats.results.loading import open_results
from headcats.results.place import Place, find_place
from headcats.results.run_results import RunResults
from headcats.results.series import is_series
from headcats.results.tables import as_written
from headcats.statistics.in_threads import check_jobs
from headcats.study.defaults import DEFAULT_RULE

_COUNTS = ["observed", "observed_least", "observed_most", "expected", "p", "expected_within_layers", "p_within_layers"]
_JACCARD = ["jaccard", "jaccard_low", "jaccard_high", "jaccard_least", "jaccard_most"]
_KV_PAIRS = ["kv_pairs", "kv_pairs_expected", "kv_pairs_p", "kv_pairs_q"]
_JOBS = "Threads for scoring; of use with large models. Later commands on the same results take what is kept."
_ALL = "With --csv: list every head and category in DIR/heads-all.csv, not the members alone."
_CSV = "Write the head list to DIR/heads.csv, with non-default options in its name."


def map_command(
    folder: arguments.Source,
    method: arguments.Method = None,
    positions: arguments.Positions = None,
    metric: arguments.Metric = None,
    effect: arguments.Effect = "total",
    rule: arguments.RuleText = DEFAULT_RULE,
    min_tasks: arguments.MinTasks = "half",
    sign: arguments.Sign = "helping",
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
    `jaccard_least`, `jaccard_most`); `reach` (what the data can show); `sentences`; `files`. Of ov_relation,
    `categories` count `relations` and name those `skipped`, and `relations` lists each (`pairs`, `null`, `threshold`,
    `heads`, `largest_score`). Of a series, `revisions` has of each `revision` its `step`, the tasks that are `skipped`
    and why, and `categories` (`category`, `tasks`, `skipped`, `heads` and `undecided`, null where not judged, and the
    heads that it `comes` to have and that it loses, `goes`: `head`, `difference` of the mean effect, `q`, `found`).
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
    if is_series(folder):
        if all_heads:
            raise OptionError("--all lists the heads of one run: name the folder of a revision.")
        map_revisions(Path(folder), reading, csv=csv, answer=answer)
        return
    place = find_place(folder)
    run = open_results(place).without_untried()
    note_unfinished(run)
    joint = method or ("" if run.tasks else next(iter(run.joint_blocks), ""))
    if joint in run.joint_blocks or registered(Label.parse(joint).name).kind == "joint":
        if all_heads:
            raise OptionError(f"--all lists effects of every head, and {joint} has none: leave it out.")
        _map_relations(run, place, joint, reading=reading, csv=csv, answer=answer)
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


def _map_relations(run: RunResults, place: Place, method: str, *, reading: Reading, csv: bool, answer: Answer) -> None:
    """The map of a joint method that sorts heads by their weights."""
    from headcats.figures.colours import listed_colours  # with plotly, which completion does without

    declaration = _joint_declaration(run, method)
    if not declaration.sorts_heads:
        drawn_by = quoted_figure_commands(run, place, method)
        raise OptionError(
            f"{method} sorts no heads into categories, so there is no map of it"
            + (f"; {drawn_by} draws it." if drawn_by else ", and these results hold no such method either.")
        )
    block = joint_block(run, declaration.figure, method=method)
    assert block is not None  # it is held, or an error names how to get it
    # One relation of a category is enough: so the method is defined.
    met = {"method", "rule"} | ({"min-tasks"} if reading.min_tasks == 1 else set())
    arguments.refuse_unused(reading.options.keys() - met, by=f"The map of {method}")
    tried = run.tried_categories(str(block.attrs["label"]))
    threshold = threshold_of(reading.rule, method=str(block.attrs["method"]))
    with as_written(f"The block of {method}", again="The same `headcats run`"):
        shared, findings = relation_map(block, threshold=threshold, tried=tried)
        colours = listed_colours(shared)
    shared = with_descriptors(shared, run.descriptors)
    has_others = len(run.joint_blocks) + len(run.scored) > 1
    answer.short = short_relations(
        shared,
        method,
        tried=tried,
        warnings=of_a_toy(run.manifest.model),
        next_command=f"headcats compare {shlex.quote(str(place))}" if has_others else "",
        colours=colours,
    )
    answer.detail(findings)
    answer.numbers = _relation_numbers(block, shared, threshold=threshold, tried=tried) | {"missing": run.missing}
    stem = figure_file(block, declaration.figure).removesuffix(".html") + Reading(rule=reading.rule).judging_suffix
    page = place.pages / f"{stem}.html"
    draw_map(answer, declaration.figure, block, page, threshold=threshold, title=suite_title(block))
    if csv:
        _write_heads(answer, head_table(shared), place.pages / f"heads-{stem}.csv")
    answer.end()


def _joint_declaration(run: RunResults, method: str) -> Declaration:
    name = Label.parse(method).name
    declared = [about for label, about in run.declarations.items() if Label.parse(label).name == name]
    return next(iter(declared), registered(name))


def map_numbers(tables: Mapping[str, xr.Dataset], reading: Reading) -> dict[str, Any]:
    """A map of scored tasks (`map_tables`), as `headcats map --help` says."""
    members, shared = tables["members"], tables["overlap"]
    outcome, prefix = ("suppressing", "suppressing_") if reading.sign == "suppressing" else ("member", "")
    return {
        "method": reading.label.method,
        "positions": reading.label.positions,
        "metric": reading.metric,
        "rule": repr(reading.rule),
        "effect": reading.effect,
        "min_tasks": str(reading.min_tasks),
        "sign": reading.sign,
        "model": reading.model,
        "not_judged": members.attrs.get("not_judged"),
        "categories": [
            {
                "category": name,
                "tasks": category["n_tasks"].item(),
                "tasks_needed": category["min_tasks"].item(),
                "judged": bool(category["effect"].notnull().any()),
                "heads": category[f"{prefix}size"].item(),
                "heads_without_effect": category["size_expected"].item() if "size_expected" in category else None,
                "undecided": int((category[outcome] == 0).where(category["effect"].notnull()).sum()),
                **{kind: shared[kind].sel(category=name).item() for kind in _KV_PAIRS if kind in shared},
            }
            for name, category in ((name, members.sel(category=name)) for name in members["category"].values.tolist())
        ],
        **_overlap_numbers(shared),
        "reach": tables["scores"].attrs.get("reach"),
    }


def _relation_numbers(
    block: xr.Dataset, shared: xr.Dataset, *, threshold: str | float, tried: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """A map of relations by weights, as `headcats map --help` says; `tried`: category -> its skipped relations."""
    mapped = shared["category"].values.tolist()
    least = block["threshold"] if threshold == "calibrated" else xr.full_like(block["threshold"], float(threshold))
    relations = {
        "relation": block["task"],
        "category": block["category"],
        "pairs": block["n"],
        "null": block["null"],
        "threshold": least,
        "heads": (block["score"] >= least).sum(("layer", "head")),
        "largest_score": block["score"].max(("layer", "head")),
    }
    return {
        "method": block.attrs["label"],
        "rule": shared.attrs["rule"],
        "sign": "helping",
        "model": block.attrs["model"],
        "categories": [
            {
                "category": name,
                "relations": shared["n_tasks"].sel(category=name).item() if name in mapped else 0,
                "heads": shared["size"].sel(category=name).item() if name in mapped else None,
                "skipped": list(tried.get(name, ())),
            }
            for name in dict.fromkeys([*mapped, *tried])
        ],
        **_overlap_numbers(shared),
        "relations": pd.DataFrame({column: values.values for column, values in relations.items()}),
    }


def _overlap_numbers(shared: xr.Dataset) -> dict[str, Any]:
    names = shared["category"].values.tolist()
    ends = [name for name in _JACCARD if name in shared]
    heads = head_table(shared).to_dict("records")
    return {
        "heads": [
            {str(key): value for key, value in row.items()}
            | {"tasks": [name for name in row["tasks"].replace(" ", "").split(",") if name]}
            for row in heads
        ],
        "shared": shared[_COUNTS].reset_coords(drop=True).to_dataframe().reset_index(),
        "overlap": [
            {"category": name, "other": second}
            | {end: np.asarray(shared[end].sel(category=name, other=second)).item() for end in ends}
            for place, name in enumerate(names)
            for second in names[place + 1 :]
        ],
    }
