"""`headcats views`: the attention of a run's heads, as pages in its folder. Needs the model."""

from typing import Annotated

import typer

from headcats.cli.arguments import AsJson, Folder, Method, Metric, MinTasks, ModelOfResults, RuleText
from headcats.cli.as_json import Answer
from headcats.study.defaults import DEFAULT_RULE


def views_command(
    folder: Folder,
    model: ModelOfResults = None,
    method: Method = None,
    metric: Metric = None,
    rule: RuleText = DEFAULT_RULE,
    min_tasks: MinTasks = "half",
    heads: Annotated[int, typer.Option("--heads", help="Heads of each category, at most.")] = 4,
    prompts: Annotated[int, typer.Option("--prompts", help="Example prompts of each category.")] = 2,
    as_json: AsJson = False,
) -> None:
    """Where the heads of every category look: attention patterns on prompts of the run, as pages in DIR/views.

    The report links them: `headcats report DIR` afterwards.

    Examples:
    - `headcats views results/mini-icl`
    - `headcats views results/mini-icl --method mean_ablation --heads 2 --prompts 4`

    Keys of `--json`: `folder`, `by` (what heads are chosen by), `views` (`file`, `category`, `heads`, `tasks`, `what`),
    `left_out` (category -> why it has no page), `said` (the sentences), `files`.
    """
    from headcats.categories.reading import Reading
    from headcats.results.folder import load
    from headcats.results.tree import manifest_of

    # A misspelt value should not wait until the model is loaded.
    reading = Reading.parse(rule=rule, min_tasks=min_tasks)
    results = load(folder)
    from headcats.reports.attention.writing import write_views

    made = write_views(
        model or manifest_of(results).model.name,
        folder,
        method=method,
        metric=metric,
        rule=reading.rule,
        min_tasks=reading.min_tasks,
        heads=heads,
        prompts=prompts,
    )
    answer = Answer(as_json)
    answer.numbers = {
        "folder": made.folder,
        "by": made.by,
        "views": [
            {"file": one.file, "category": one.category, "heads": one.heads, "tasks": one.tasks, "what": one.what}
            for one in made.views
        ],
        "left_out": made.left_out,
    }
    answer.say(f"{category} has no page: {why}" for category, why in made.left_out.items())
    for view in made.views:
        answer.wrote(view.category, made.folder / view.file)
    answer.say([f"{view.category}: {made.folder / view.file}" for view in made.views])
    answer.say([f"`headcats report {folder}` links them."])
    answer.end()
