"""`headcats run`: score every head on every task."""

import shlex
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
import xarray as xr

from headcats.base.errors import DataError, HeadcatsError, OptionError, StorageError, StorageWarning, pluralize
from headcats.base.registry import lookup
from headcats.categories.map_result import block_title
from headcats.categories.map_spec import MapSpec
from headcats.categories.run_maps import scored_map
from headcats.cli.answer import Answer
from headcats.cli.arguments import AsJson, Details
from headcats.cli.commands import stopping
from headcats.cli.console import note_control, warn
from headcats.cli.map_answer import draw_map, map_numbers, short_run
from headcats.cli.options import check_names, settings, takes_fields
from headcats.cli.series import run_revisions
from headcats.methods.spec import MethodSpec
from headcats.reports.text.answer import toy_model_warning
from headcats.reports.text.maps import map_findings
from headcats.reports.text.short import short_joint, suite_findings
from headcats.reports.text.suggestions import figure_file
from headcats.results.finding import paragraph
from headcats.results.label import Label
from headcats.results.loading import open_results
from headcats.results.manifest import Manifest
from headcats.results.place import find_place
from headcats.results.run_results import RunResults
from headcats.results.series import SeriesFolder
from headcats.scale.ray_cluster import Cluster
from headcats.scale.shard import Shard
from headcats.study.options import ModelOptions, StudyOptions
from headcats.study.plan import methods_of_suite

_PRESET = "Options of a paper, see `headcats list presets`; other options win over them."


@takes_fields(ModelOptions, StudyOptions)
def run_command(
    given: dict[str, Any],
    study_file: Annotated[Path | None, typer.Argument(help="A study.toml with the options below; options win.")] = None,
    preset: Annotated[str | None, typer.Option("--preset", help=_PRESET)] = None,
    attention: Annotated[
        bool, typer.Option("--attention/--no-attention", help="Save where the heads look, for the report.")
    ] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress bar.")] = False,
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
    - `headcats run --suite cognitive --no-attention`
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
    `sentences`; `files` (`report`, `map`, `attention`). With `--revisions` those of `headcats map --json` for a
    series; with `--shard` `folder`, `shard` and `blocks` (task and method) alone.
    """
    options = settings(study_file, given | ({"progress": False} if quiet else {}), preset_name=preset)
    chosen = check_names(options)
    # Its files are not read again.
    options |= {"suite": chosen, "methods": list(options.get("methods") or methods_of_suite(chosen))}
    several = "-revisions" if "revisions" in options else ""
    folder = Path(options.get("out") or Path("results") / f"{Path(options['model']).name}-{chosen.name}{several}")
    part = Shard.parse(options["shard"]) if "shard" in options else None
    if part is not None:
        folder /= part.folder
        options["shard"] = part
    cluster = Cluster.parse(options.pop("cluster")) if "cluster" in options else None
    if cluster is not None:
        cluster.check_reachable()
        if cluster.gpus_per_worker != 0:
            # The workers have the GPUs; this process reads texts, and the heads' descriptors.
            options.setdefault("device", "cpu")
    if several and (part or cluster):
        raise OptionError(
            "--revisions runs here and as a whole: leave out --cluster and --shard, or name one --revision."
        )
    with stopping(lambda: _stopped(folder)):
        answer = Answer(as_json, details=details)
        _run(options | {"out": folder}, folder, attention=attention, answer=answer, cluster=cluster, shard=part)
        answer.end()


def _run(
    options: dict[str, Any],
    folder: Path,
    *,
    attention: bool,
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
            _tell_shard(results, shard, folder, answer)
            return
        del results  # what is told is read from the folder, where it is kept for later commands
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StorageWarning)  # which the run has given
            finished = open_results(find_place(folder))
        print_run_summary(finished, specs, folder, answer, model=loaded if attention else None)


def _stopped(folder: Path) -> str:
    if (folder / "manifest.json").exists() or SeriesFolder(folder).file.is_file():
        return f"Stopped. What is finished is saved in {folder}; the same command continues from there."
    return f"Stopped before anything was finished, so {folder} holds nothing yet; the same command starts again."


def _tell_shard(results: xr.DataTree, shard: Shard, folder: Path, answer: Answer) -> None:
    """Print what a part of a run holds, and how to join all; maps and pages are of the whole."""
    run = RunResults(results)
    finished = run.manifest.finished()
    answer.numbers = {
        "folder": folder,
        "shard": str(shard),
        "blocks": sorted(f"{task} {name}" for task, name in finished),
    }
    answer.say([f"Part {shard} holds {pluralize(len(finished), 'block')}: {folder}"])
    # The star is for the shell.
    together, out = f"{shlex.quote(str(folder.parent))}/shard-*-of-{shard.of}", shlex.quote(str(folder.parent / "all"))
    answer.say([f"Give all {shard.of} parts the same --out."])
    answer.say([f"When all are done: `headcats merge {together} --out {out}`, then `headcats report`."])


def print_run_summary(
    results: RunResults, specs: Sequence[MethodSpec], folder: Path, answer: Answer, *, model: Any = None
) -> None:
    """Print the heads of every category by the first method, a figure of every joint method, and what to open."""
    run = results.without_untried()
    manifest, blocks = run.manifest, run.joint_blocks
    answer.numbers = {
        "folder": folder,
        "model": manifest.model.name,
        "suite": manifest.plan.suite,
        "methods": list(manifest.methods),
        "tasks": [
            {"task": name, "category": record.category, "refusal": record.refusal or None}
            for name, record in manifest.tasks.items()
        ],
        "map": None,
        "joint_methods": [],
    }
    if not all(spec.is_joint for spec in specs):
        _tell_map(run, specs, folder, answer)
    joint = [spec for spec in specs if spec.is_joint and spec.label in blocks]
    if joint and answer.short is None:
        answer.short = short_joint([blocks[spec.label] for spec in joint], warnings=toy_model_warning(manifest.model))
    for spec in joint:
        _tell_joint(blocks[spec.label], manifest, spec, folder, answer)
    mapped = answer.numbers["map"] is not None
    if mapped or joint:
        # Attention is that of the heads of categories, which other joint methods have not.
        sorts = mapped or any(spec.method.declaration.selection for spec in joint)
        _tell_page(folder, answer, model=model if sorts else None)


def _tell_map(run: RunResults, specs: Sequence[MethodSpec], folder: Path, answer: Answer) -> None:
    manifest, first = run.manifest, next(spec for spec in specs if not spec.is_joint)
    scored = len(run.scored_tasks)
    count = f"{scored} of {pluralize(len(manifest.tasks), 'task')}"
    summary = f"Scored {count} of suite {manifest.plan.suite} on {manifest.model.name}."
    if not scored:
        answer.say([summary])
        return
    result = scored_map(run, MapSpec(Label.parse(first.label)))
    details = f"headcats map {shlex.quote(str(folder))} --details"  # without running anything again
    answer.short = replace(short_run(run, result), details=details)
    answer.detail([summary, *map_findings(result)])
    answer.numbers["map"] = map_numbers(result, model=manifest.model.name)
    option = "" if run.default_label == result.spec.label else f" --method {result.spec.label}"
    hint = "" if result.not_judged else f" Head list: `headcats map {shlex.quote(str(folder))}{option} --csv`"
    draw_map(answer, result, folder, hint=f".{hint}")


def _tell_joint(block: xr.Dataset, manifest: Manifest, spec: MethodSpec, folder: Path, answer: Answer) -> None:
    from headcats.figures.figure import write

    findings = suite_findings(block)
    answer.detail([paragraph("text.plain", text=f"{spec.label} on {manifest.model.name}"), *findings])
    figure, page = spec.method.declaration.figure, None
    try:
        if figure:
            page = write(lookup("figure", figure)(block, title=block_title(block)), folder / figure_file(block, figure))
            if answer.numbers["map"] is None:
                answer.close(f"Figure: {page}")
            else:
                answer.close(f"{spec.label}: {page}")
    except (DataError, StorageError) as error:
        warn(f"Not drawn: {error}")  # a probe at chance, for example: saved, but nothing to look at
    answer.numbers["joint_methods"].append(
        {"method": spec.label, "sentences": list(map(str, findings)), "figure": page}
    )


def _tell_page(folder: Path, answer: Answer, *, model: Any) -> None:
    """Where the heads look, then the report, which shows it."""
    from headcats.reports.page.writing import report

    if model is not None:
        from headcats.reports.attention.saving import save_attention

        try:
            answer.wrote("attention", save_attention(model, folder))
        except StorageError:
            raise
        except HeadcatsError as error:
            # A run of controls alone, or heads that compute no pattern: the results are whole without them.
            warn(f"Where the heads look is not saved: {error}")
    page = report(folder)
    answer.wrote("report", page, f"Open {page} in a browser.")
