"""`headcats run`: score every head on every task."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from headcats.cli import arguments, completion
from headcats.cli.answer import Answer
from headcats.cli.console import note_control, stopping
from headcats.cli.finished_run import tell_run
from headcats.cli.series import run_revisions
from headcats.cli.settings import check_names, name_of_suite, run_options, settings
from headcats.cli.spreading import Address, GpusPerWorker, Ray, cluster_of, tell_shard
from headcats.cluster.ray_cluster import Cluster
from headcats.errors import OptionError, StorageWarning
from headcats.methods.spec import MethodSpec
from headcats.results.label import Label
from headcats.results.loading import open_results
from headcats.results.place import find_place
from headcats.results.series import is_series
from headcats.study.defaults import OF_STUDY, OF_SUITE
from headcats.study.shard import Shard
from headcats.study.suite_methods import methods_of_suite

_METHODS = (
    "Methods, separated by spaces or commas, each as `name`, `name:option=value,option=value` or "
    "`name:option=value@positions` (last, answer, all or a token role), such as `attribution_patch:steps=8` or "
    "`mean_ablation:reference=task@last`. `headcats list methods` names them; default: those of the suite."
)
_PRESET = (
    "Options of a paper, see `headcats list presets`; other options win over them. --methods adds options to the "
    "preset's method if it names that method, and replaces it otherwise."
)
_SHARD = (
    "i/n: score the i-th of n parts of the tasks and methods, into OUT/shard-i-of-n, without pages. "
    "`headcats merge` joins them."
)


def run_command(
    study_file: Annotated[Path | None, typer.Argument(help="A study.toml with the options below; options win.")] = None,
    model: arguments.Model = None,
    suite: arguments.SuiteName = None,
    methods: Annotated[str | None, typer.Option("--methods", help=_METHODS, autocompletion=completion.methods)] = None,
    preset: Annotated[str | None, typer.Option("--preset", help=_PRESET, autocompletion=completion.presets)] = None,
    n_prompts: arguments.NPrompts = None,
    out: Annotated[Path | None, typer.Option("--out", help="Results folder; default: results/MODEL-SUITE.")] = None,
    tasks: arguments.Tasks = None,
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
    device_map: arguments.DeviceMap = None,
    load_in: arguments.LoadIn = None,
    dtype: arguments.Dtype = None,
    revision: arguments.Revision = None,
    revisions: arguments.Revisions = None,
    backend: arguments.Backend = None,
    path: arguments.SweepPath = None,
    memory: arguments.Memory = None,
    ray: Ray = False,
    address: Address = None,
    gpus_per_worker: GpusPerWorker = None,
    shard: Annotated[str | None, typer.Option("--shard", help=_SHARD)] = None,
    store: arguments.Store = None,
    views: Annotated[
        bool, typer.Option("--views/--no-views", help="Draw attention patterns of the heads, in DIR/views.")
    ] = True,
    quiet: arguments.Quiet = False,
    details: arguments.Details = False,
    as_json: arguments.AsJson = False,
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
    - `headcats run --model Qwen/Qwen2.5-0.5B-Instruct --chat`
    - `headcats run --suite sentences --json`
    - `headcats run --model EleutherAI/pythia-70m --revisions step512,step4000,step143000`
    - `headcats run --model gpt2 --ray --address 10.0.0.1:6379`
    - `headcats run --model gpt2 --shard $SLURM_ARRAY_TASK_ID/8`

    Keys of `--json`: `folder`, `model`, `suite`, `methods` (all that the folder holds); `tasks` (`task`, `category`,
    `refusal`: why it is skipped, or null); `map` (as `headcats map --json`, of the first method of this run; null
    without one); `joint_methods` (of this run: `method`, `sentences`, `figure`, null where none could be drawn);
    `views` (files); `sentences`; `files` (`report`, `map`). With `--revisions` those of `headcats map --json` for a
    series; with `--shard` `folder`, `shard` and `blocks` (task and method) alone.
    """
    options = settings(study_file, run_options(locals()), preset_name=preset)
    chosen = check_names(options)
    # Its files are not read again.
    options |= {"suite": chosen, "methods": list(options["methods"] or methods_of_suite(chosen))}
    several = "" if options["revisions"] is None else "-revisions"
    folder = Path(options["out"] or Path("results") / f"{Path(options['model']).name}-{chosen.name}{several}")
    part = None if shard is None else Shard.parse(shard)
    if part is not None:
        folder /= part.folder
    cluster = cluster_of(ray, address, gpus_per_worker, options)
    if options["revisions"] is not None and (part or cluster):
        raise OptionError("--revisions runs here and as a whole: leave out --ray and --shard, or name one --revision.")
    with stopping(lambda: _stopped(folder)):
        answer = Answer(as_json, details=details)
        _run(options, folder, quiet=quiet, views=views, answer=answer, cluster=cluster, shard=part)
        answer.end()


def _run(
    options: dict[str, Any],
    folder: Path,
    *,
    quiet: bool,
    views: bool,
    answer: Answer,
    cluster: Cluster | None,
    shard: Shard | None,
) -> None:
    note_control(Label.parse(next(iter(options["methods"]), "")))
    specs = [MethodSpec.parse(method) for method in options["methods"]]  # misspelt ones fail before a model is loaded
    _check_demonstrations(options, specs)
    if options["revisions"] is not None:
        run_revisions(options, folder, quiet=quiet, answer=answer)
        return
    from headcats.study.loading import load_study
    from headcats.study.runner import run, writing

    with writing(folder):
        loaded, study = load_study(options | ({} if shard is None else {"shard": str(shard)}))
        results = run(loaded, out=folder, progress=False if quiet else None, cluster=cluster, **study)
        if shard is not None:
            tell_shard(results, shard, folder, answer)
            return
        del results  # what is told is read from the folder, where it is kept for later commands
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StorageWarning)  # which the run has given
            finished = open_results(find_place(folder))
        tell_run(finished, specs, folder, answer, viewed=loaded if views else None)


def _check_demonstrations(options: Mapping[str, Any], specs: Sequence[MethodSpec]) -> None:
    """A suite without demonstrations sets their number to 0: a user who named a method only did not ask for that."""
    corrupting = [spec.name for spec in specs if not spec.is_joint]
    name = name_of_suite(options["suite"])
    if not corrupting or options["n_demos"] != 0 or OF_SUITE.get(name, {}).get("n_demos") != 0:
        return
    raise OptionError(
        f"{' and '.join(corrupting)} needs demonstrations to corrupt, and tasks of suite {name!r} are questions "
        f"without any, answered in sentences, which {', '.join(methods_of_suite(options['suite']))} reads. Name "
        f"another suite, such as --suite cognitive, or ask for demonstrations, such as --n-demos {OF_STUDY['n_demos']}."
    )


def _stopped(folder: Path) -> str:
    if (folder / "manifest.json").exists() or is_series(folder):
        return f"Stopped. What is finished is saved in {folder}; the same command continues from there."
    return f"Stopped before anything was finished, so {folder} holds nothing yet; the same command starts again."
