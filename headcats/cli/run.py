"""`headcats run`: score every head on every task."""

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from headcats.base.errors import OptionError, StorageWarning
from headcats.cli import completion
from headcats.cli.answer import Answer
from headcats.cli.arguments import AsJson, Details
from headcats.cli.console import note_control, stopping
from headcats.cli.finished_run import print_run_summary
from headcats.cli.options import takes_fields
from headcats.cli.series import run_revisions
from headcats.cli.settings import check_names, settings
from headcats.cli.spreading import cluster_of, tell_shard
from headcats.methods.spec import MethodSpec
from headcats.results.loading import open_results
from headcats.results.place import find_place
from headcats.results.series import SeriesFolder
from headcats.scale.ray_cluster import Cluster
from headcats.scale.shard import Shard
from headcats.study.options import ModelOptions, StudyOptions
from headcats.study.plan import methods_of_suite

_PRESET = (
    "Options of a paper, see `headcats list presets`; other options win over them. --methods adds options to the "
    "preset's method if it names that method, and replaces it otherwise."
)


@takes_fields(ModelOptions, StudyOptions)
def run_command(
    given: dict[str, Any],
    study_file: Annotated[Path | None, typer.Argument(help="A study.toml with the options below; options win.")] = None,
    preset: Annotated[str | None, typer.Option("--preset", help=_PRESET, autocompletion=completion.presets)] = None,
    views: Annotated[
        bool, typer.Option("--views/--no-views", help="Draw attention patterns of the heads, in DIR/views.")
    ] = True,
    details: Details = False,
    as_json: AsJson = False,
) -> None:
    """Score every head on every task, and write the report: DIR/report.html.

    Without options: the bundled model on the suite icl, into results/mini-icl. Repeat the command to continue a run
    that was stopped, or to add tasks and methods to one that is finished.

    Examples:
    - `headcats run`
    - `headcats run --model gpt2 --n-prompts 32`
    - `headcats run --methods noising_patch,mean_ablation:reference=task --out results/more`
    - `headcats run --methods denoising_patch,mean_ablation@all`
    - `headcats run --suite cognitive --no-views`
    - `headcats run --suite path/to/mine.py:my_suite --min-accuracy 0.3`
    - `headcats run --suite pairs.json --model gpt2`
    - `headcats run --model Qwen/Qwen2.5-0.5B-Instruct --template chat`
    - `headcats run --suite sentences --json`
    - `headcats run --model EleutherAI/pythia-70m --revisions step512,step4000,step143000`
    - `headcats run --model gpt2 --cluster 10.0.0.1:6379`
    - `headcats run --model gpt2 --shard $SLURM_ARRAY_TASK_ID/8`

    Keys of `--json`: `folder`, `model`, `suite`, `methods` (all that the folder holds); `tasks` (`task`, `category`,
    `refusal`: why it is skipped, or null); `map` (as `headcats map --json`, of the first method of this run; null
    without one); `joint_methods` (of this run: `method`, `sentences`, `figure`, null where none could be drawn);
    `views` (files); `sentences`; `files` (`report`, `map`). With `--revisions` those of `headcats map --json` for a
    series; with `--shard` `folder`, `shard` and `blocks` (task and method) alone.
    """
    options = settings(study_file, given, preset_name=preset)
    chosen = check_names(options)
    # Its files are not read again.
    options |= {"suite": chosen, "methods": list(options.get("methods") or methods_of_suite(chosen))}
    several = "-revisions" if "revisions" in options else ""
    folder = Path(options.get("out") or Path("results") / f"{Path(options['model']).name}-{chosen.name}{several}")
    part = Shard.parse(options["shard"]) if "shard" in options else None
    if part is not None:
        folder /= part.folder
        options["shard"] = part
    cluster = cluster_of(options)
    if several and (part or cluster):
        raise OptionError(
            "--revisions runs here and as a whole: leave out --cluster and --shard, or name one --revision."
        )
    with stopping(lambda: _stopped(folder)):
        answer = Answer(as_json, details=details)
        _run(options | {"out": folder}, folder, views=views, answer=answer, cluster=cluster, shard=part)
        answer.end()


def _run(
    options: dict[str, Any],
    folder: Path,
    *,
    views: bool,
    answer: Answer,
    cluster: Cluster | None,
    shard: Shard | None,
) -> None:
    note_control(*options["methods"][:1])
    specs = [MethodSpec.parse(method) for method in options["methods"]]  # misspelt ones fail before a model is loaded
    if "revisions" in options:
        run_revisions(options, folder, answer=answer)
        return
    from headcats.study.loading import load_study
    from headcats.study.runner import run, writing

    with writing(folder):
        loaded, study = load_study(options)
        results = run(loaded, cluster=cluster, **study)
        if shard is not None:
            tell_shard(results, shard, folder, answer)
            return
        del results  # what is told is read from the folder, where it is kept for later commands
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StorageWarning)  # which the run has given
            finished = open_results(find_place(folder))
        print_run_summary(finished, specs, folder, answer, viewed=loaded if views else None)


def _stopped(folder: Path) -> str:
    if (folder / "manifest.json").exists() or SeriesFolder(folder).file.is_file():
        return f"Stopped. What is finished is saved in {folder}; the same command continues from there."
    return f"Stopped before anything was finished, so {folder} holds nothing yet; the same command starts again."
