"""`headcats validate`: what a run would score."""

import typer

from headcats.cli.arguments import AsJson
from headcats.cli.as_json import put
from headcats.cli.console import tell
from headcats.cli.run_options import (
    Backend,
    Corruption,
    Device,
    Dtype,
    Memory,
    Metrics,
    Model,
    NDemos,
    NPrompts,
    Revision,
    Seed,
    SuiteName,
    SweepPath,
    Tasks,
    Template,
    load_named,
    words,
)
from headcats.cli.settings import check_named, settings
from headcats.study.defaults import DEFAULT_PROMPTS

# Exit code where no task can be scored, so that a script need not start the run.
NOTHING_USABLE = 3


def validate_command(
    model: Model = None,
    suite: SuiteName = None,
    tasks: Tasks = None,
    n_prompts: NPrompts = None,
    metrics: Metrics = None,
    n_demos: NDemos = None,
    template: Template = None,
    corruption: Corruption = None,
    seed: Seed = None,
    device: Device = None,
    dtype: Dtype = None,
    revision: Revision = None,
    backend: Backend = None,
    path: SweepPath = None,
    memory: Memory = None,
    as_json: AsJson = False,
) -> None:
    """What a run would score: per task kept and dropped prompts, base accuracy, and the gap with its interval.

    Ends with exit code 3 where no task can be scored.

    Examples:
    - `headcats validate`
    - `headcats validate --model gpt2 --template question`
    - `headcats validate --tasks plural,antonym --json`

    Keys of `--json`: the tasks, and of each `category`, `source`, `word_pairs`, `prompts` and `reference_prompts`
    (`kept`, `dropped` by reason, `examples`), `refusal` ("" for none), `seconds`, and where prompts could be written
    `prompt_hash` (the same for the same prompts), `accuracy`, `corrupted_accuracy`, `metric`, `gap`, `low`, `high`,
    `n_items`; of a task that is answered in sentences `questions`, `right`, `low`, `high`, `n_right`, `n_wrong`,
    `needed`.
    """
    chosen = settings(
        None,
        {
            "model": model,
            "suite": suite,
            "tasks": words(tasks),
            "n_prompts": n_prompts,
            "metrics": words(metrics),
            "n_demos": n_demos,
            "template": template,
            "corruption": corruption,
            "seed": seed,
            "device": device,
            "dtype": dtype,
            "revision": revision,
            "backend": backend,
            "path": path,
            "memory": memory,
        },
    )
    check_named(chosen)
    from headcats.study.validation import validate

    chosen.pop("out")
    loaded = load_named(chosen)
    study = {key: value for key, value in chosen.items() if value is not None}
    study.setdefault("n_prompts", DEFAULT_PROMPTS)
    entries = validate(loaded, **study)
    if as_json:
        put(entries)
    else:
        from headcats.reports.text.validation import validation_findings

        tell(validation_findings(entries, f"{loaded.name}: {study['suite']}", corruption=study["corruption"]))
    if all(entry["refusal"] for entry in entries.values()):
        raise typer.Exit(NOTHING_USABLE)
