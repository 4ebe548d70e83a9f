"""Commands that need a model: `run` and `validate`."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headcats.cli.console import stopping
from headcats.cli.reading import note_control
from headcats.cli.settings import DEFAULTS, OF_SUITE, check_named, settings
from headcats.cli.validation_tables import print_validation
from headcats.errors import OptionError

if TYPE_CHECKING:
    from headcats.methods.spec import MethodSpec

Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        help="'mini' or 'mini-cognitive' (bundled; default: the one for the suite), a folder or a hub name.",
    ),
]
SuiteName = Annotated[str | None, typer.Option("--suite", help="Suite of tasks; default: icl.")]
Tasks = Annotated[
    str | None, typer.Option("--tasks", help="Tasks to score, separated by commas; default: all of the suite.")
]
NPrompts = Annotated[int | None, typer.Option("--n-prompts", help="Scored prompts per task; default: 64.")]
NDemos = Annotated[int | None, typer.Option("--n-demos", help="Demonstrations per prompt; default: 5.")]
Template = Annotated[
    str | None, typer.Option("--template", help="How prompts are written: arrow (default) or question.")
]
Corruption = Annotated[str | None, typer.Option("--corruption", help="other_task (default) or shuffled_labels.")]
Metrics = Annotated[
    str | None,
    typer.Option(
        "--metrics",
        help="Metrics, separated by commas; default: logit_diff (log_prob with --corruption shuffled_labels).",
    ),
]
Seed = Annotated[int | None, typer.Option("--seed", help="Seed of every random choice; default: 0.")]
Device = Annotated[str | None, typer.Option("--device", help="cuda, mps or cpu; default: the first there is.")]
Dtype = Annotated[str | None, typer.Option("--dtype", help="float32, bfloat16 or float16.")]
Revision = Annotated[str | None, typer.Option("--revision", help="Revision of a hub model.")]
Backend = Annotated[str | None, typer.Option("--backend", help="bridge, or hooked (transformer-lens 3 only).")]
Memory = Annotated[
    str | None,
    typer.Option("--memory", help="Limit beside the model's weights, such as 4GB; default: half of what is free."),
]
SweepPath = Annotated[
    str | None, typer.Option("--path", help="auto (the fastest exact one, the default) or hooked (the reference).")
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress bar, and no lines on finished parts and the time left.")
]


def run_command(
    study_file: Annotated[Path | None, typer.Argument(help="A study.toml with the options below; options win.")] = None,
    model: Model = None,
    suite: SuiteName = None,
    methods: Annotated[
        str | None,
        typer.Option(
            "--methods",
            help="Methods, separated by spaces or commas, each as name, name:option=value,option=value or "
            "name:option=value@positions (last, all or a token role), such as head_gating:preset=chg-mini,n_seeds=3 or "
            "mean_ablation:reference=task@last. `headcats list methods` names them; default: those of the suite.",
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset",
            help="Options of a paper, see `headcats list presets`; other options win over it. --methods adds options "
            "to the preset's method where it names that one, and takes its place otherwise.",
        ),
    ] = None,
    n_prompts: NPrompts = None,
    destination: Annotated[
        Path | None, typer.Option("--out", help="Results folder; default: results/<model>-<suite>.")
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
    quiet: Quiet = False,
) -> None:
    """Score every head on every task, and draw the overlap map.

    Without options: the bundled model on the suite icl, into results/mini-icl. The same command goes on with a run that
    was stopped, and adds tasks and methods to one that is finished.

    Examples: [bold]headcats run[/] · [bold]headcats run --model gpt2 --n-prompts 32[/] ·
    [bold]headcats run --methods noising_patch,mean_ablation:reference=task --out results/more[/] ·
    [bold]headcats run --methods ov_relation,function_probe[/] · [bold]headcats run --preset chg-mini[/] ·
    [bold]headcats run --suite cognitive[/] · [bold]headcats run --suite sentences[/]
    """
    given = {
        "model": model,
        "suite": suite,
        "methods": _methods(methods),
        "tasks": _names(tasks),
        "metrics": _names(metrics),
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
        _run(chosen, folder, quiet=quiet)


def _run(chosen: dict[str, Any], folder: Path, *, quiet: bool) -> None:
    from headcats.cli.finished_run import tell
    from headcats.methods.spec import MethodSpec
    from headcats.study import DEFAULT_METHODS, DEFAULT_PROMPTS, run

    if chosen["methods"] is None:
        chosen["methods"] = list(DEFAULT_METHODS)
    note_control(next(iter(chosen["methods"]), None))
    specs = [MethodSpec.parse(method) for method in chosen["methods"]]  # misspelt ones are refused before a model loads
    _check_demonstrations(chosen, specs)
    loaded = _load(chosen)
    study = {key: value for key, value in chosen.items() if value is not None}
    study.setdefault("n_prompts", DEFAULT_PROMPTS)
    tell(run(loaded, out=folder, progress=False if quiet else None, **study), specs, folder)


def _check_demonstrations(chosen: Mapping[str, Any], specs: Sequence["MethodSpec"]) -> None:
    """A suite without demonstrations sets their number to 0: a user who named a method only did not ask for that.

    Raises:
        OptionError: A method of the run corrupts demonstrations, and the suite's tasks have none.
    """
    corrupting = [spec.name for spec in specs if not spec.of_suite]
    name, of_suite = chosen["suite"], OF_SUITE.get(chosen["suite"], {})
    if not corrupting or chosen["n_demos"] or of_suite.get("n_demos") != 0:
        return
    raise OptionError(
        f"Tasks of suite {name!r} are questions without demonstrations that are answered in sentences, and "
        f"{', '.join(of_suite['methods'])} reads those. {' and '.join(corrupting)} needs prompts that are "
        "corrupted in their demonstrations: name "
        f"another suite, such as --suite cognitive, or ask for demonstrations, such as --n-demos {DEFAULTS['n_demos']} "
        "(tasks whose answers have several tokens are then refused)."
    )


def _stopped(folder: Path) -> str:
    if (folder / "manifest.json").exists():
        return f"Stopped. What is finished is saved in {folder}; the same command goes on from there."
    return f"Stopped before anything was finished, so {folder} holds nothing yet; the same command starts again."


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
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")] = False,
) -> None:
    """What a run would score: per task kept and dropped prompts, base accuracy, and the gap with its interval.

    Examples: [bold]headcats validate[/] · [bold]headcats validate --model gpt2 --template question[/]
    """
    chosen = settings(
        None,
        {
            "model": model,
            "suite": suite,
            "tasks": _names(tasks),
            "n_prompts": n_prompts,
            "metrics": _names(metrics),
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
    from headcats.study import DEFAULT_PROMPTS, validate

    chosen.pop("out")
    loaded = _load(chosen)
    study = {key: value for key, value in chosen.items() if value is not None}
    study.setdefault("n_prompts", DEFAULT_PROMPTS)
    entries = validate(loaded, **study)
    if as_json:
        typer.echo(json.dumps(entries, ensure_ascii=False, indent=1))
        return
    print_validation(entries, f"{loaded.name}: {study['suite']}", corruption=study["corruption"])


def _load(chosen: dict[str, Any]) -> Any:
    """The model of the settings; its own options are taken out."""
    import torch

    from headcats.models import load_model
    from headcats.study import DEFAULT_PROMPTS, plan
    from headcats.sweeps.memory import budget
    from headcats.sweeps.paths import check_path

    names = ("device", "dtype", "revision", "backend")
    options = {name: chosen.pop(name) for name in names}
    source = chosen.pop("model")
    # A misspelt name should not wait until a large model is loaded.
    study = {name: value for name, value in chosen.items() if value is not None and name not in ("path", "memory")}
    check_path(chosen["path"])
    budget(chosen["memory"], torch.device("cpu"))
    plan(suite_source=study.pop("suite"), **{"n_prompts": DEFAULT_PROMPTS, **study})
    return load_model(source, **(options | {"dtype": getattr(torch, options["dtype"])}))


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [word for word in text.replace(",", " ").split() if word]


def _methods(text: str | None) -> list[str] | None:
    """Method names split at spaces and commas; a comma between two options of one method is not a split."""
    if text is None:
        return None
    found: list[str] = []
    for word in _names(text) or []:
        if found and "=" in word and ":" not in word:
            found[-1] += f",{word}"
        else:
            found.append(word)
    return found
