"""The command `evidence`, and how its result is printed."""

import itertools
import json
from typing import Annotated, Any

import numpy as np
import typer
import xarray as xr

from headcats.cli.console import out, table
from headcats.cli.reading import Effect, Folder, Metric, MinTasks
from headcats.cli.settings import DEFAULT_RULE
from headcats.evidence.reading import of_tasks, share


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
    from headcats.cli.mapping import parse_min_tasks, parse_rule
    from headcats.results import load

    judge, needed = parse_rule(rule), parse_min_tasks(min_tasks)
    described = json.loads(load(folder).attrs["manifest"])["model"]
    from headcats.models import load_model
    from headcats.study.evidence_run import NODES, run_evidence

    backend = "hooked" if described["model_class"] == "HookedTransformer" else "bridge"
    revision = described["revision"] if model is None else None
    loaded = load_model(model or described["name"], dtype=described["dtype"], revision=revision, backend=backend)
    found = run_evidence(
        loaded,
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
    out.print(f"\nNumbers: [bold]{folder / 'evidence'}[/] ({', '.join(f'{name}.nc' for name in NODES)})")


def print_evidence(found: xr.DataTree) -> None:
    """Every table, and the reading."""
    options = json.loads(found.attrs["options"])
    effect = "task-specific effects, " if options["effect"] == "task_specific" else ""
    out.print(
        f"\nHeads chosen by {options['method']}, {effect}{options['metric']}, rule {options['rule']}, on half of the "
        f"query items and without the tested task; ablated jointly at positions '{options['positions']}' on up to "
        f"{options['n_prompts']} held-out prompts per task. Damage is the drop of the answer's log-probability as a "
        f"share of the gap; {_matched(found)} The exact p is among relabellings of the heads within their layers.",
        soft_wrap=True,
    )
    for name, title in (
        (
            "specificity",
            "Damage by heads of (rows) to tasks of (columns), with 95 % interval, and 95 % range of random sets",
        ),
        ("exclusive", "The same by heads that are in no other category"),
    ):
        out.print(_matrix(f"\n{title}", found[name].to_dataset()))
    out.print(_contrasts(found["contrasts"].to_dataset()))
    out.print(_curves(found["curves"].to_dataset()))
    for one in _self_repair(found["self_repair"].to_dataset()):
        out.print(one)
    out.print("\nReading")
    for sentence in json.loads(found.attrs["reading"]):
        out.print(f"- {sentence}", markup=False, soft_wrap=True)


_LINES = ["damage", "95 %", "random", "p (sets)", "exact p (n)"]


def _matched(found: xr.DataTree) -> str:
    kinds = {
        kind
        for name in ("specificity", "exclusive")
        for text in found[name].to_dataset()["matched"].values.tolist()
        for kind in text.split("+")
    }
    told = "random sets have as many heads of every layer as the tested ones and none of them"
    if "thirds" in kinds:
        told += ", or of every third of the layers where no such set exists"
    return f"{told}."


def _matrix(title: str, data: xr.Dataset) -> Any:
    targets = data["target"].values.tolist()
    rows = []
    for name in data["category"].values.tolist():
        row = data.sel(category=name)
        tested = [text for text in dict.fromkeys(row["heads"].values.tolist()) if text]
        listed = [*tested[: len(_LINES) - 1], "..."] if len(tested) > len(_LINES) else tested or ["none"]
        cells = [_cell(row.sel(target=target), "", of_tasks(row, target)) for target in targets]
        parts = [[name], listed, _LINES, *cells, _cell(row, "specificity_"), _advantage(row), [row["verdict"].item()]]
        # One row of the table per line, so that a line that has to be folded does not shift the others.
        rows += [list(line) for line in itertools.zip_longest(*parts, fillvalue="")]
    columns = ["heads of", "tested heads", "", *targets, "specificity", "against the rival", "verdict"]
    return table(title, columns, rows)


def _cell(cell: xr.Dataset, prefix: str, on: str = "") -> list[str]:
    """One text for each of `_LINES`."""
    value = cell[prefix.rstrip("_") or "damage"].item()
    if not np.isfinite(value):
        return ["-"]
    low, high, random_low, random_high = (
        cell[f"{prefix}{name}"].item() for name in ("low", "high", "control_low", "control_high")
    )
    p = f"{_number(cell[f'{prefix}p'].item(), 3)} ({int(cell[f'{prefix}n_controls'])})"
    shown = f"{_number(value)}{f' (on {on})' if on else ''}"
    lines = [shown, _between(low, high), _between(random_low, random_high), p]
    if prefix:
        lines.append(f"{_number(cell['specificity_exact_p'].item(), 3)} ({int(cell['n_relabelled'])})")
    return lines


def _advantage(row: xr.Dataset) -> list[str]:
    if not row["rival"].item():
        return ["-"]
    return [
        _number(row["advantage"].item()),
        _between(row["advantage_low"].item(), row["advantage_high"].item()),
        row["rival"].item(),
    ]


SIDES = ("own", "other")


def _contrasts(data: xr.Dataset) -> Any:
    rows = []
    for name in data["category"].values.tolist():
        for other in data["other"].values.tolist():
            cell = data.sel(category=name, other=other)
            if name == other:
                continue
            strangers = not cell["own_prompts"].item() and not cell["other_prompts"].item()
            low, high = (cell[f"control_{end}"].item() for end in ("low", "high"))
            rows.append(
                [
                    name,
                    other,
                    f"{_number(cell['own'].item())} ({cell['own_prompts'].item()})",
                    f"{_number(cell['elsewhere'].item())} ({cell['other_prompts'].item()})",
                    _number(cell["difference"].item()),
                    _between(low, high),
                    _number(cell["p"].item(), 3),
                    _number(cell["interaction"].item()),
                    "no words in common"
                    if strangers
                    else cell["note"].item() or " against ".join(_some(cell[f"{side}_tasks"].item()) for side in SIDES),
                ]
            )
    columns = ["heads of", "other", "own (prompts)", "other's (prompts)", "difference", "random", "p*", "both", "tasks"]
    return table(
        "\nDamage on words that two categories share (* describes, decides nothing)",
        columns,
        rows,
        numeric=frozenset(columns[2:8]),
    )


def _some(names: str) -> str:
    listed = names.split(",")
    return ", ".join(listed[:3]) + (f" and {len(listed) - 3} more" if len(listed) > 3 else "")


def _curves(data: xr.Dataset) -> Any:
    rows = []
    for name in data["category"].values.tolist():
        for k in data["k"].values.tolist():
            own, others = (data.sel(category=name, k=k, side=side) for side in ("own", "others"))
            if not int(own["n_tasks"]) + int(others["n_tasks"]):
                continue
            random = [_range(side["random"].values) for side in (own, others)]
            rows.append(
                [
                    name,
                    str(k),
                    _number(own["damage"].item()),
                    random[0],
                    _number(others["damage"].item()),
                    random[1],
                    f"{int(own['n_tasks'])}, {int(others['n_tasks'])}",
                ]
            )
    columns = ["heads of", "heads", "own tasks", "random", "other categories", "random", "tasks"]
    title = "\nHeads ablated one after the other, the most specific first"
    return table(title, columns, rows, numeric=frozenset(columns[1:]))


def _range(values: np.ndarray) -> str:
    known = values[np.isfinite(values)]
    return f"{_number(known.mean())} ({_between(known.min(), known.max())})" if len(known) else "-"


def _self_repair(data: xr.Dataset) -> list[Any]:
    names = data["category"].values.tolist()
    sums = [
        [name, *(_number(data[part].sel(category=name).item()) for part in ("sum_of_single", "joint", "redundancy"))]
        for name in names
    ]
    columns = ["heads of", "sum of single damages", "joint damage", "joint minus sum"]
    heads = []
    for name in names:
        for place in data["place"].values.tolist():
            cell = data.sel(category=name, place=place)
            if cell["head"].item():
                numbers = [_number(cell[part].item()) for part in ("direct", "total", "repaired")]
                heads.append([name, cell["head"].item(), *numbers])
    head_columns = ["heads of", "head", "direct effect", "total effect", "repaired"]
    return [
        table("\nSelf-repair: do the heads stand in for each other?", columns, sums, numeric=frozenset(columns[1:])),
        table("\nand do later layers make up for a head?", head_columns, heads, numeric=frozenset(head_columns[2:])),
    ]


def _number(value: float, digits: int | None = None) -> str:
    """A share of the gap as the reading prints it, or with so many digits."""
    if not np.isfinite(value):
        return "-"
    # Adding 0 takes the sign off a -0.000.
    return share(value) if digits is None else f"{round(value, digits) + 0.0:.{digits}f}"


def _between(low: float, high: float) -> str:
    return f"{_number(low)} to {_number(high)}" if np.isfinite(low) else "-"
