"""The command `evidence`."""

import json
from typing import Annotated

import typer

from headcats.cli.console import out
from headcats.cli.reading import Effect, Folder, Metric, MinTasks, note_unfinished
from headcats.cli.settings import DEFAULT_RULE
from headcats.errors import OptionError


def evidence_command(
    folder: Folder,
    model: Annotated[
        str | None, typer.Option("--model", help="Model of the results; default: the name in their manifest.")
    ] = None,
    method: Annotated[
        str | None,
        typer.Option("--method", help="Method to choose heads by, as name or name@positions; default: the first."),
    ] = None,
    metric: Metric = None,
    effect: Effect = "total",
    rule: Annotated[str, typer.Option("--rule", help="Rule as name:option=value,...")] = DEFAULT_RULE,
    min_tasks: MinTasks = "half",
    positions: Annotated[
        str, typer.Option("--positions", help="Where heads are ablated: last, or all (takes many times longer).")
    ] = "last",
    n_prompts: Annotated[int, typer.Option("--n-prompts", help="Held-out prompts per task.")] = 16,
    controls: Annotated[int, typer.Option("--controls", help="Random sets, and relabellings, per tested set.")] = 100,
    seed: Annotated[int, typer.Option("--seed", help="Seed of halves, random sets and resamples.")] = 0,
) -> None:
    """Does a category stand? Its heads are ablated on prompts the run has not seen, beside random heads.

    Examples: [bold]headcats evidence results/mini-icl[/] ·
    [bold]headcats evidence results/mini-icl --method mean_ablation --controls 1000[/]
    """
    from headcats.cli.evidence_tables import print_evidence
    from headcats.cli.instead import check_scored
    from headcats.cli.mapping import EFFECTS, check_choice, parse_min_tasks, parse_rule
    from headcats.results import load

    # A misspelt value should not wait until the model is loaded.
    judge, needed = parse_rule(rule), parse_min_tasks(min_tasks)
    check_choice("--effect", effect, EFFECTS)
    check_choice("--positions", positions, ("last", "all"))
    for option, value, least in (("--n-prompts", n_prompts, 2), ("--controls", controls, 1)):
        if value < least:
            raise OptionError(f"{option} must be at least {least}; got {value}.")
    results = load(folder)
    note_unfinished(results)
    check_scored(results, folder, method, by="`headcats evidence`")
    from headcats.study.evidence_run import NODES, evidence_files, run_evidence

    where = folder / evidence_files(
        results, method=method, metric=metric, effect=effect, rule=judge, min_tasks=needed, positions=positions
    )
    replaced = " These replace earlier ones." if (where / f"{NODES[0]}.nc").exists() else ""
    found = run_evidence(
        model or json.loads(results.attrs["manifest"])["model"]["name"],
        folder,
        method=method,
        metric=metric,
        effect=effect,
        rule=judge,
        min_tasks=needed,
        positions=positions,
        n_prompts=n_prompts,
        controls=controls,
        seed=seed,
    )
    print_evidence(found)
    out.print(f"\nNumbers: [bold]{where}[/] ({', '.join(f'{name}.nc' for name in NODES)}).{replaced}")
