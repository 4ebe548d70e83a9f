"""`headcats run`: score every head on every task."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headcats.cli import completion
from headcats.cli.arguments import AsJson
from headcats.cli.as_json import Answer
from headcats.cli.checks import note_control
from headcats.cli.console import stopping
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
    Quiet,
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
from headcats.errors import OptionError
from headcats.study.defaults import DEFAULT_PROMPTS, DEFAULTS, OF_SUITE

if TYPE_CHECKING:
    from headcats.methods.spec import MethodSpec


def run_command(
    study_file: Annotated[Path | None, typer.Argument(help="A study.toml with the options below; options win.")] = None,
    model: Model = None,
    suite: SuiteName = None,
    methods: Annotated[
        str | None,
        typer.Option(
            "--methods",
            help="Methods, separated by spaces or commas, each as `name`, `name:option=value,option=value` or "
            "`name:option=value@positions` (last, all or a token role), such as "
            "`head_gating:n_seeds=3` or `mean_ablation:reference=task@last`. `headcats list methods` names them; "
            "default: those of the suite.",
            autocompletion=completion.methods,
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset",
            help="Options of a paper, see `headcats list presets`; other options win over it. --methods adds options "
            "to the preset's method where it names that one, and takes its place otherwise.",
            autocompletion=completion.presets,
        ),
    ] = None,
    n_prompts: NPrompts = None,
    destination: Annotated[
        Path | None, typer.Option("--out", help="Results folder; default: results/MODEL-SUITE.")
    ] = None,
    tasks: Tasks = None,
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
    views: Annotated[
        bool, typer.Option("--views/--no-views", help="Pages with the attention of the heads, in DIR/views.")
    ] = True,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Score every head on every task, and write the report: DIR/report.html.

    Without options: the bundled model on the suite icl, into results/mini-icl. The same command goes on with a run that
    was stopped, and adds tasks and methods to one that is finished.

    Examples:
    - `headcats run`
    - `headcats run --model gpt2 --n-prompts 32`
    - `headcats run --methods noising_patch,mean_ablation:reference=task --out results/more`
    - `headcats run --methods ov_relation,function_probe`
    - `headcats run --preset chg-mini`
    - `headcats run --suite cognitive --no-views`
    - `headcats run --suite sentences --json`

    Keys of `--json`: `folder`, `model`, `suite`, `methods` (all that the folder holds); `tasks` (`task`, `category`,
    `refusal`: why it is not scored, or null); `map` (as `headcats map --json`, of the first method of this run; null
    without one); `suite_methods` (of this run: `method`, `said`, `figure`, null where none could be drawn); `views`
    (files); `said` (the sentences); `files` (`report`, `map`).
    """
    given = {
        "model": model,
        "suite": suite,
        "methods": _methods(methods),
        "tasks": words(tasks),
        "metrics": words(metrics),
        "n_prompts": n_prompts,
        "n_demos": n_demos,
        "template": template,
        "corruption": corruption,
        "seed": seed,
        "out": None if destination is None else str(destination),
        "device": device,
        "dtype": dtype,
        "revision": revision,
        "backend": backend,
        "path": path,
        "memory": memory,
    }
    chosen = settings(study_file, given, preset_name=preset)
    check_named(chosen)
    folder = Path(chosen.pop("out") or Path("results") / f"{Path(chosen['model']).name}-{chosen['suite']}")
    with stopping(lambda: _stopped(folder)):
        _run(chosen, folder, quiet=quiet, views=views, answer=Answer(as_json))


def _run(chosen: dict[str, Any], folder: Path, *, quiet: bool, views: bool, answer: Answer) -> None:
    from headcats.cli.finished_run import tell_run
    from headcats.methods.spec import MethodSpec
    from headcats.results.declaration import default_methods
    from headcats.results.label import Label
    from headcats.study.runner import run

    chosen["methods"] = list(chosen["methods"] or default_methods())
    note_control(Label.parse(next(iter(chosen["methods"]), "")))
    specs = [MethodSpec.parse(method) for method in chosen["methods"]]  # misspelt ones are refused before a model loads
    _check_demonstrations(chosen, specs)
    loaded = load_named(chosen)
    study = {key: value for key, value in chosen.items() if value is not None}
    study.setdefault("n_prompts", DEFAULT_PROMPTS)
    results = run(loaded, out=folder, progress=False if quiet else None, **study)
    tell_run(results, specs, folder, answer, viewed=loaded if views else None)


def _check_demonstrations(chosen: Mapping[str, Any], specs: Sequence["MethodSpec"]) -> None:
    """A suite without demonstrations sets their number to 0: a user who named a method only did not ask for that.

    Raises:
        OptionError: A method of the run corrupts demonstrations, and the suite's tasks have none.
    """
    from headcats.results.declaration import default_methods

    corrupting = [spec.name for spec in specs if not spec.of_suite]
    name, of_suite = chosen["suite"], OF_SUITE.get(chosen["suite"], {})
    if not corrupting or chosen["n_demos"] or of_suite.get("n_demos") != 0:
        return
    raise OptionError(
        f"Tasks of suite {name!r} are questions without demonstrations that are answered in sentences, and "
        f"{', '.join(default_methods(name))} reads those. {' and '.join(corrupting)} needs prompts that are "
        "corrupted in their demonstrations: name "
        f"another suite, such as --suite cognitive, or ask for demonstrations, such as --n-demos {DEFAULTS['n_demos']} "
        "(tasks whose answers have several tokens are then refused)."
    )


def _stopped(folder: Path) -> str:
    if (folder / "manifest.json").exists():
        return f"Stopped. What is finished is saved in {folder}; the same command goes on from there."
    return f"Stopped before anything was finished, so {folder} holds nothing yet; the same command starts again."


def _methods(text: str | None) -> list[str] | None:
    """Method names split at spaces and commas; a comma between two options of one method is not a split."""
    if text is None:
        return None
    found: list[str] = []
    for word in words(text) or []:
        if found and "=" in word and ":" not in word:
            found[-1] += f",{word}"
        else:
            found.append(word)
    return found
