"""Options that `run` and `validate` share, and the model that they name."""

from typing import Annotated, Any

import typer

from headcats.cli import completion
from headcats.study.defaults import DEFAULT_PROMPTS

Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        help="'mini' or 'mini-cognitive' (bundled; default: the one for the suite), a folder or a hub name.",
        autocompletion=completion.models,
    ),
]
SuiteName = Annotated[
    str | None, typer.Option("--suite", help="Suite of tasks; default: icl.", autocompletion=completion.suites)
]
Tasks = Annotated[
    str | None,
    typer.Option(
        "--tasks",
        help="Tasks to score, separated by commas; default: all of the suite.",
        autocompletion=completion.tasks,
    ),
]
NPrompts = Annotated[int | None, typer.Option("--n-prompts", help="Scored prompts per task; default: 64.")]
NDemos = Annotated[int | None, typer.Option("--n-demos", help="Demonstrations per prompt; default: 5.")]
Template = Annotated[
    str | None,
    typer.Option(
        "--template",
        help="How prompts are written: arrow (default) or question.",
        autocompletion=completion.templates,
    ),
]
Corruption = Annotated[
    str | None,
    typer.Option(
        "--corruption",
        help="other_task (default) or shuffled_labels.",
        autocompletion=completion.one_of("other_task", "shuffled_labels"),
    ),
]
Metrics = Annotated[
    str | None,
    typer.Option(
        "--metrics",
        help="Metrics, separated by commas; default: logit_diff (log_prob with --corruption shuffled_labels).",
        autocompletion=completion.metrics,
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


def words(text: str | None) -> list[str] | None:
    """Names separated by spaces or commas."""
    return None if text is None else [word for word in text.replace(",", " ").split() if word]


def load_named(chosen: dict[str, Any]) -> Any:
    """The model of the settings; its own options are taken out.

    Args:
        chosen: What `headcats.cli.settings.settings` returns.
    """
    import torch

    from headcats.models.loading import load_model
    from headcats.study.plan import plan
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
