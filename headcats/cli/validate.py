"""`headcats validate`: which tasks a run would score."""

from typing import Any

import typer

from headcats.base.registry import names
from headcats.cli.answer import put
from headcats.cli.arguments import AsJson
from headcats.cli.console import tell
from headcats.cli.options import check_names, settings, takes_fields
from headcats.results.finding import line
from headcats.results.manifest import SUITE
from headcats.study.options import ModelOptions, StudyOptions

# Exit code where no task can be scored, so that a script need not start the run.
NOTHING_USABLE = 3


@takes_fields(ModelOptions, StudyOptions, until="validate")
def validate_command(given: dict[str, Any], as_json: AsJson = False) -> None:
    """Check which tasks a run would score: prompts kept and dropped, accuracy, and the gap with its interval.

    Of tasks that are named with --tasks, come from files or from your own code, the first prompt is shown token by
    token. The exit code is 3 if no task can be scored.

    Examples:
    - `headcats validate`
    - `headcats validate --suite pairs.json --model gpt2`
    - `headcats validate --model gpt2 --template question`
    - `headcats validate --tasks plural,antonym --json`

    Keys of `--json`: the tasks, and of each `category`, `source`, `rows` (of its file), `word_pairs` (that prompts are
    made of), `prompts` and `reference_prompts` (`kept`, `dropped` by reason, `examples`), `refusal` (why it would be
    skipped, or "") and `refused_by` (`prompts`, `min_accuracy`, `min_logit_diff`, `gap` or `demonstrations`),
    `given_answers` (`prompt`, `expected` and `given`, of a task that the model cannot do), `corruption` (if other than
    asked for), `independent_source` (its group, or the first task of its source), `joined_by` (what), `linked` (tasks
    of other sources with a third of its words), `template`, `distractors`, `seconds`, and where prompts could be
    written `prompt_hash` (the same for the same prompts), `accuracy`, `corrupted_accuracy`, `metric`, `gap`, `low`,
    `high`, `n_items`, `prompt_tokens` and `answer_tokens` (means), `first_prompt` (`key`; `bos`, in front, and
    `bos_written`, which the tokenizer itself writes there, null for none; `clean`, `answer`, `corrupted`, `distractor`:
    the text of every token, "" where a character goes on), `doubts` (number by doubt, left out if none: `long_answers`,
    of more than 12 tokens, and of files `option_numbers`, `links`, `in_prompt`), and of finished prompts
    `near_duplicates` (with the contrast of another item; left out if none) and `n_left` (neither scored nor reference,
    for `headcats evidence`); of a task that is answered in sentences `questions`, `right`, `low`, `high`, `n_right`,
    `n_wrong`, `needed`. `_suite` stands beside the tasks where files were `ignored`.
    """
    options = settings(None, given)
    chosen = check_names(options)
    from headcats.reports.text.tasks import first_prompts, validation_findings
    from headcats.study.loading import load_study
    from headcats.study.validation import validate

    loaded, study = load_study(options | {"suite": chosen})  # its files are not read again
    entries = validate(loaded, **study)
    if as_json:
        put(entries | ({SUITE: {"ignored": chosen.ignored}} if chosen.ignored else {}))
    else:
        plan = {name: study.get(name, getattr(StudyOptions, name)) for name in ("corruption", "answers")}
        is_shown = "tasks" in options or chosen.source not in names("suite")
        tell(first_prompts(entries) if is_shown else [])
        tell(validation_findings(entries, f"{loaded.name}: {options['suite']}", **plan, ignored=chosen.ignored))
        tell([] if is_shown else [line("validation.name_tasks")])
    if all(entry["refusal"] for entry in entries.values()):
        raise typer.Exit(NOTHING_USABLE)
