"""`headcats compare`: what a map depends on. Reads saved results; loads no torch."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headcats.cli.console import out
from headcats.cli.reading import MinTasks, RuleText
from headcats.cli.settings import DEFAULT_RULE
from headcats.errors import DataError, OptionError

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

Folders = Annotated[list[Path], typer.Argument(help="One or several results folders.")]
Method = Annotated[str | None, typer.Option("--method", help="Only this method; default: all (models: the first).")]
Positions = Annotated[str | None, typer.Option("--positions", help="Only these positions; default: all.")]
Metric = Annotated[str | None, typer.Option("--metric", help="Only this metric; default: all (models: the first).")]
Sign = Annotated[
    str, typer.Option("--sign", help="Whose: helping (the default) or suppressing heads; they are never merged.")
]
Splits = Annotated[int, typer.Option("--halves", help="Random splits of the prompts of a single folder; 0 for none.")]
Csv = Annotated[
    Path | None,
    typer.Option(
        "--csv",
        help="Write the numbers as a table to this file; the grid of all methods beside it, as NAME-methods.csv.",
    ),
]


def compare_command(
    folders: Folders,
    method: Method = None,
    positions: Positions = None,
    metric: Metric = None,
    rule: RuleText = DEFAULT_RULE,
    min_tasks: MinTasks = "half",
    sign: Sign = "helping",
    halves: Splits = 5,
    csv: Csv = None,
) -> None:
    """What the heads of a category depend on: how far they agree between protocols, prompts, results or models.

    One folder: between all methods, positions and metrics it holds, between halves of its prompts, and, where it holds
    methods over the whole suite (ov_relation, head_gating, ...), between all methods on one grid of heads. Several
    folders of one model: between all they hold. Either way also which heads are in a category under all protocols, at
    least half of them, or any. Folders of different models: the structure of their categories, since heads of
    different models do not correspond. --method, --positions and --metric choose among the protocols.

    Examples: [bold]headcats compare results/mini-icl[/] · [bold]headcats compare results/seed0 results/seed1[/]
    """
    from headcats.cli.instead import check_scored
    from headcats.cli.mapping import SIGNS, check_choice, of_run, parse_min_tasks, parse_rule
    from headcats.cli.plan_tables import print_plans
    from headcats.results import load, suite_blocks, task_nodes

    # A misspelt value should not wait for the scores.
    parse_rule(rule), parse_min_tasks(min_tasks)
    check_choice("--sign", sign, SIGNS)
    if halves < 0:
        raise OptionError(f"--halves is a number of splits, 0 for none; got {halves}.")
    loaded = [load(folder) for folder in folders]
    for one, folder in zip(loaded, folders, strict=True) if len(folders) > 1 else ():
        check_scored(one, folder, method, by="`headcats compare` of several folders")
    results = dict(zip(_labels(folders), (of_run(one, *loaded) for one in loaded), strict=True))
    if len(results) > 1:
        print_plans(results)
    alone = next(iter(results.values())) if len(results) == 1 else None
    grid = None
    if len(set(map(_weights, results.values()))) > 1:
        table = _structure(
            results, method=method, positions=positions, metric=metric, rule=rule, min_tasks=min_tasks, sign=sign
        )
    elif alone is not None and not task_nodes(alone):
        table = _methods_alone(alone, folders[0], metric)
    else:
        if alone is not None:
            check_scored(alone, folders[0], method, by="`headcats compare` with --method")
        table = _protocols(
            results, method=method, positions=positions, metric=metric, rule=rule, min_tasks=min_tasks, sign=sign
        )
        if alone is not None and halves:
            _halves(alone, (method, positions, metric), rule=rule, min_tasks=min_tasks, splits=halves, sign=sign)
        if alone is not None and suite_blocks(alone) and method is None:
            grid = _methods(alone, metric)
    if csv is not None:
        _write({csv: table} | ({} if grid is None else {csv.with_name(f"{csv.stem}-methods{csv.suffix}"): grid}))


def _protocols(
    results: dict[str, "xr.DataTree"], *, rule: str, min_tasks: str, sign: str, **chosen: str | None
) -> "pd.DataFrame":
    from headcats.cli.agreement_tables import print_agreement, print_replicates
    from headcats.cli.mapping import parse_min_tasks, parse_rule
    from headcats.evidence import agreement, judge_protocols
    from headcats.evidence.comparison.agreeing import pairs

    judged = judge_protocols(results, rule=parse_rule(rule), min_tasks=parse_min_tasks(min_tasks), **chosen)
    table = agreement(judged.members, sign=sign)
    print_agreement(table, judged.left_out)
    print_replicates(judged.members, sign=sign)
    return pairs(table)


def _methods(results: "xr.DataTree", metric: str | None) -> "pd.DataFrame":
    from headcats.cli.method_tables import print_methods
    from headcats.evidence import method_agreement, method_scores

    found = method_agreement(method_scores(results, metric=metric))
    print_methods(found)
    pairs = found[["rank_correlation", "layer_correlation", "p_value", "q_value", "top_overlap", "top_chance"]]
    return pairs.reset_coords(drop=True).to_dataframe().reset_index()


def _methods_alone(results: "xr.DataTree", folder: Path, metric: str | None) -> "pd.DataFrame":
    """The same of results without a scored task; where nothing can be compared, the message says what to look at."""
    from headcats.cli.instead import drawn_by

    try:
        return _methods(results, metric)
    except DataError as error:
        drawn = drawn_by(results, folder)
        raise DataError(f"{error} To look at what there is: {drawn}." if drawn else str(error)) from None


def _halves(
    results: "xr.DataTree",
    chosen: tuple[str | None, str | None, str | None],
    *,
    rule: str,
    min_tasks: str,
    splits: int,
    sign: str,
) -> None:
    from headcats.categories import categorize
    from headcats.cli.agreement_tables import print_halves
    from headcats.cli.mapping import default_method, parse_min_tasks, parse_rule
    from headcats.evidence import half_agreement
    from headcats.scores import score

    method, positions, metric = chosen
    if method is None:
        method, first = default_method(results)
        positions = positions or first
    elif "@" in method:
        method, _, positions = method.rpartition("@")
    metric = metric or json.loads(results.attrs["manifest"])["plan"]["metrics"][0]
    judge, needed = parse_rule(rule), parse_min_tasks(min_tasks)

    def members(half: "xr.DataTree") -> "xr.Dataset":
        alpha = judge.options.get("alpha", 0.05)
        scores = score(half, method=method, metric=metric, positions=positions, alpha=alpha)
        return categorize(scores, rule=judge, min_tasks=needed)

    where = f" at {positions}" if positions else ""
    found = half_agreement(results, members, splits=splits, sign=sign)
    print_halves(found, title=f"{method}{where}, {metric}")


def _structure(
    results: dict[str, "xr.DataTree"],
    *,
    method: str | None,
    positions: str | None,
    metric: str | None,
    rule: str,
    min_tasks: str,
    sign: str,
) -> "pd.DataFrame":
    from headcats.cli.mapping import tables
    from headcats.cli.structure_tables import print_structure
    from headcats.evidence import category_structure

    overlaps = {
        label: tables(
            one, method=method, positions=positions, metric=metric, rule=rule, min_tasks=min_tasks, sign=sign
        )["overlap"]
        for label, one in results.items()
    }
    found = category_structure(overlaps)
    print_structure(found)
    return found[["size", "share", "mean_layer", "depth"]].to_dataframe().reset_index()


def _labels(folders: list[Path]) -> list[str]:
    """Names that differ, also where one folder is named twice."""
    named = [str(folder) for folder in folders]
    before = [named[:place].count(name) for place, name in enumerate(named)]
    return [f"{name} ({times + 1})" if times else name for name, times in zip(named, before, strict=True)]


def _weights(results: "xr.DataTree") -> str | None:
    weights: str | None = json.loads(results.attrs["manifest"])["model"].get("weights_hash")
    return weights


def _write(tables: dict[Path, "pd.DataFrame"]) -> None:
    from headcats.results import ResultsFolder

    for path, table in tables.items():
        data = table.to_csv(index=False, lineterminator="\n").encode("utf-8")
        ResultsFolder(path.parent).write_bytes(path.name, data)
    out.print(f"\nNumbers: {' and '.join(f'[bold]{path}[/]' for path in tables)}")
