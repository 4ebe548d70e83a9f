"""`headcats validate`: which tasks a run would score."""

import typer

from headcats.cli import arguments
from headcats.cli.console import put, tell
from headcats.cli.settings import check_names, run_options, settings

# Exit code where no task can be scored, so that a script need not start the run.
NOTHING_USABLE = 3


def validate_command(
    model: arguments.Model = None,
    suite: arguments.SuiteName = None,
    tasks: arguments.Tasks = None,
    n_prompts: arguments.NPrompts = None,
    metrics: arguments.Metrics = None,
    n_demos: arguments.NDemos = None,
    template: arguments.Template = None,
    chat: arguments.Chat = False,
    corruption: arguments.Corruption = None,
    answers: arguments.Answers = None,
    seed: arguments.Seed = None,
    min_accuracy: arguments.MinAccuracy = None,
    min_logit_diff: arguments.MinLogitDiff = None,
    device: arguments.Device = None,
    dtype: arguments.Dtype = None,
    revision: arguments.Revision = None,
    backend: arguments.Backend = None,
    path: arguments.SweepPath = None,
    memory: arguments.Memory = None,
    as_json: arguments.AsJson = False,
) -> None:
    """Check which tasks a run would score: prompts kept and dropped, accuracy, and the gap with its interval.

    The exit code is 3 if no task can be scored.

    Examples:
    - `headcats validate`
    - `headcats validate --model gpt2 --template question`
    - `headcats validate --tasks plural,antonym --json`

    Keys of `--json`: the tasks, and of each `category`, `source`, `word_pairs`, `prompts` and `reference_prompts`
    (`kept`, `dropped` by reason, `examples`), `refusal` (why it would be skipped, or ""), `given_answers` (`prompt`,
    `expected` and `given`, of a task that the model cannot do), `corruption` (if other than asked for), `seconds`, and
    where prompts could be written `prompt_hash` (the same for the same prompts), `accuracy`, `corrupted_accuracy`,
    `metric`, `gap`, `low`, `high`, `n_items`, and of finished prompts `near_duplicates` (with the contrast of another
    item; left out if none); of a task that is answered in sentences `questions`, `right`, `low`, `high`, `n_right`,
    `n_wrong`, `needed`.
    """
    options = settings(None, run_options(locals()))
    check_names(options)
    from headcats.reports.text.tasks import validation_findings
    from headcats.study.loading import load_study
    from headcats.study.validation import validate

    loaded, study = load_study(options)
    entries = validate(loaded, **study)
    if as_json:
        put(entries)
    else:
        plan = {name: study[name] for name in ("corruption", "answers")}
        tell(validation_findings(entries, f"{loaded.name}: {study['suite']}", **plan))
    if all(entry["refusal"] for entry in entries.values()):
        raise typer.Exit(NOTHING_USABLE)
