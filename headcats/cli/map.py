"""`headcats map`: the heads of every category, and the overlap map."""

from typing import Annotated

import typer

from headcats.categories.map_spec import MapSpec
from headcats.categories.membership import head_table
from headcats.cli import arguments
from headcats.cli.answer import Answer
from headcats.cli.console import note_control, note_unfinished
from headcats.cli.map_answer import draw_map, map_numbers, short_run
from headcats.cli.series import map_training
from headcats.evidence.comparison.runs import read_runs
from headcats.reports.text.short import map_details
from headcats.reports.text.suggestions import read_map
from headcats.reports.text.tasks import source_findings
from headcats.results.run_results import place_of

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
    csv: Annotated[bool, typer.Option("--csv", help=_CSV)] = False,
    details: arguments.Details = False,
    as_json: arguments.AsJson = False,
) -> None:
    """List the heads of every category, and draw the overlap map as a page in DIR (of results on the hub, in ./NAME).

    Of a series (`headcats run --revisions`): the heads of every category at every revision, and which come and go.

    Examples:
    - `headcats map results/mini-icl --details`
    - `headcats map results/mini-icl --csv`
    - `headcats map results/mini-icl --method mean_ablation --rule fdr:alpha=0.01,min_effect=0.1`
    - `headcats map results/mini-icl --effect task_specific --sign suppressing`
    - `headcats map results/mini-icl --method mean_ablation --sign suppressing`
    - `headcats map results/mini-icl --json`
    - `headcats map hf://owner/name`

    Keys of `--json`: `method`, `positions`, `metric`, `effect`, `rule`, `min_tasks`, `sign`, `model`; `not_judged` (why
    the rule can judge no head, or null); `categories` (`category`, `tasks`, `tasks_needed`, `judged`, `heads`,
    `heads_without_effect`: how many the rule finds on average if no head has any, `undecided`, and the tasks that a
    joint method has `skipped`); `heads` (`head`, `category`, `kind`, where heads share keys and values `kv_head`,
    `effect`, `low`, `high`, `q`, `tasks`, and where known `specific`, the task-specific effect, `probability`,
    `doubtful`, `approximation`; over the category's tasks `mean_effect`, its intervals `these_tasks_low`,
    `these_tasks_high` for these tasks and `new_task_low`, `new_task_high` for a new one, and `task_sd`, the spread
    between tasks; and what the head does (see `hc.describe_heads`): `previous_token`, `duplicate_token`, `induction`,
    `first_token`, `entropy`, `distance`, `copying`, `direct_logit`); `shared` (heads in exactly `k` categories:
    `observed`); `overlap` (`jaccard` of `category` and `other`, with the interval `jaccard_low`, `jaccard_high`);
    `sharing` (what `hc.categories.sharing` returns); `sentences`; `files`. A joint method has no `positions`, `metric`,
    `effect`, `min_tasks` and `sharing`. Of a series, `revisions` has of each `revision` its `step`, the tasks that are
    `skipped` and why, and `categories` (`category`, `tasks`, `skipped`, `heads` and `undecided`, null where not judged,
    and the heads that it `comes` to have and that it loses, `goes`: `head`, `difference` of the mean effect, `q`,
    `found`). `files` has `map` null where the folder cannot be written; `missing`, of a single run, are files that are
    damaged or gone, and why.
    """
    reading = MapSpec.parse(
        method=method, positions=positions, metric=metric, effect=effect, rule=rule, min_tasks=min_tasks, sign=sign
    )
    answer = Answer(as_json, details=details)
    runs = read_runs(folder, by="headcats map")
    if (run := runs.alone) is None:
        map_training(runs, reading, csv=csv, answer=answer)
        return
    note_unfinished(run)
    place = place_of(run)
    result = read_map(run, reading)
    note_control(result.method)
    answer.short = short_run(run, result)
    answer.detail([*answer.short.verdict, *map_details(result), *source_findings(run.scored_records)])
    answer.numbers = map_numbers(result, model=run.manifest.model.name) | {"missing": run.missing}
    draw_map(answer, result, place.pages)
    if csv:
        path = place.pages / f"heads{result.suffix}.csv"
        answer.write_table("heads", head_table(result.overlap), path, f"Head list: {path}")
    answer.end()
