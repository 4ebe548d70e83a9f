"""`headcats views`: attention patterns of a run's heads, as pages in its folder. Needs the model."""

import shlex
from dataclasses import asdict
from typing import Annotated

import typer

from headcats.categories.map_spec import MapSpec
from headcats.cli.answer import Answer
from headcats.cli.arguments import AsJson, Folder, Method, Metric, MinTasks, ModelOfResults, RuleText, SuiteOfResults
from headcats.results.loading import open_results
from headcats.results.place import find_place
from headcats.results.sources import source_of


def views_command(
    folder: Folder,
    model: ModelOfResults = None,
    suite: SuiteOfResults = None,
    method: Method = None,
    metric: Metric = None,
    rule: RuleText = None,
    min_tasks: MinTasks = None,
    heads: Annotated[int, typer.Option("--heads", help="Most heads of each category.")] = 4,
    prompts: Annotated[int, typer.Option("--prompts", help="Example prompts of each category.")] = 2,
    as_json: AsJson = False,
) -> None:
    """Draw the attention patterns of each category's heads on prompts of the run, as pages in DIR/views.

    `headcats report DIR` then links them.

    Examples:
    - `headcats views results/mini-icl`
    - `headcats views results/mini-icl --method mean_ablation --heads 2 --prompts 4`

    Keys of `--json`: `folder`, `by` (what heads are chosen by), `views` (`file`, `category`, `heads`, `tasks`, `what`),
    `left_out` (category -> why it has no page), `sentences`, `files`.
    """
    # A misspelt value should not wait until the model is loaded.
    reading = MapSpec.parse(rule=rule, min_tasks=min_tasks)
    run = open_results(find_place(folder))
    from headcats.reports.attention.writing import write_views

    pages = write_views(
        model or source_of(run.manifest.model, folder),
        folder,
        suite=suite,
        method=method,
        metric=metric,
        rule=reading.named_rule,
        min_tasks=reading.named_min_tasks,
        heads=heads,
        prompts=prompts,
    )
    answer = Answer(as_json)
    answer.numbers = {
        "folder": pages.folder,
        "by": pages.by,
        "views": [asdict(view) for view in pages.views],
        "left_out": pages.left_out,
    }
    answer.say(f"{category} has no page: {reason}" for category, reason in pages.left_out.items())
    for view in pages.views:
        answer.wrote(view.category, pages.folder / view.file)
    answer.say([f"{view.category}: {pages.folder / view.file}" for view in pages.views])
    answer.say([f"`headcats report {shlex.quote(str(folder))}` links them."])
    answer.end()
