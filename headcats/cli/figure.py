"""`headcats figure`: one figure from a results folder."""

import inspect
import json
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import typer
import xarray as xr

from headcats.base.errors import OptionError, UnknownNameError, unknown_name_message
from headcats.base.registry import lookup
from headcats.categories.map_result import MapResult, block_title
from headcats.categories.map_spec import EVIDENCE_TABLES, MapSpec, refuse_unused
from headcats.categories.run_maps import kept_tables
from headcats.cli import arguments
from headcats.cli.answer import put
from headcats.cli.console import note_control, tell, warn
from headcats.evidence.comparison.revisions import judge_training
from headcats.evidence.comparison.runs import read_runs
from headcats.reports.page.saved import saved_evidence
from headcats.reports.text.maps import not_judged
from headcats.reports.text.suggestions import check_scored, joint_block, read_map, sorting_label
from headcats.results.label import Label
from headcats.results.loading import open_results
from headcats.results.place import find_place
from headcats.results.run_results import RunResults, place_of

# Tables of memberships, which any method that sorts heads has.
_OF_MEMBERS = ("members", "overlap")
_SET = "Option of the figure as NAME=VALUE, such as score=facilitation; repeatable."


_Given = tuple[xr.Dataset, dict[str, Any]]
"""Table that a figure reads; and its `title`, with the `members` for a figure that takes them."""


def figure_command(
    name: Annotated[str, typer.Argument(help="Name of a figure; see `headcats list figures`.")],
    folder: arguments.Source,
    destination: Annotated[Path, typer.Option("--out", help="File to write: .html, .png, .svg or .pdf.")],
    method: arguments.Method = None,
    positions: arguments.Positions = None,
    metric: arguments.Metric = None,
    effect: arguments.Effect = "total",
    rule: arguments.RuleText = None,
    min_tasks: arguments.MinTasks = None,
    sign: arguments.Sign = "helping",
    options: Annotated[list[str] | None, typer.Option("--set", help=_SET)] = None,
    as_json: arguments.AsJson = False,
) -> None:
    """Draw one figure from results.

    Examples:
    - `headcats figure head_grid results/mini-icl --out grid.html`
    - `headcats figure overlap_map results/mini-icl --sign suppressing --out suppressing.svg`
    - `headcats figure overlap_map results/mini-icl --set layout=paper --set marks=none --out published.svg`
    - `headcats figure checkpoints results/mini-checkpoints --set heads=L5H0,L2H3 --out training.html`

    Images (.png, .svg, .pdf) need kaleido and Chrome or Chromium; .html needs neither.

    Keys of `--json`: `figure`, `file`, `title`.
    """
    if Path(name).is_dir():
        swapped = " ".join(shlex.quote(str(part)) for part in (folder, name, "--out", destination))
        raise OptionError(f"The figure comes first: headcats figure {swapped}.")
    draw = lookup("figure", name)
    if not destination.absolute().parent.is_dir():
        raise OptionError(f"There is no folder {destination.parent} for {destination.name}: make it first.")
    from headcats.figures.figure import reads, write

    reading = MapSpec.parse(
        method=method, positions=positions, metric=metric, effect=effect, rule=rule, min_tasks=min_tasks, sign=sign
    )
    figure_options = _figure_options(draw, name, options or [])
    table, known = _table(folder, reads(draw), name, reading, method=method, positions=positions)
    taken = {key: value for key, value in known.items() if key in inspect.signature(draw).parameters}
    file = write(draw(table, **(taken | figure_options)), destination)
    if as_json:
        put({"figure": name, "file": file, "title": known["title"]})
    else:
        tell([f"Wrote {file}"])


def _table(folder: str, kind: str, name: str, reading: MapSpec, *, method: str | None, positions: str | None) -> _Given:
    """Return the table that a figure reads of results, or of a series."""
    if kind == "revisions":
        runs = read_runs(folder, by="headcats figure")
        if not runs.is_training:
            raise OptionError(
                f"Figure {name!r} is of a series, which `headcats run --revisions` makes: {folder} is none."
            )
        refuse_unused(reading.options.keys() & {"effect", "sign"}, by=f"Figure {name!r}")
        course, reading = judge_training(runs, reading)
        return course, {"title": reading.title}
    run = open_results(find_place(folder)).without_untried()
    if kind in _OF_MEMBERS and sorting_label(run, method) is not None:
        result = read_map(run, reading)
        return result.tables[kind], {"title": result.title}
    # A figure of an `importance` shows any score over layers and heads.
    block = joint_block(run, name, method=method, any_method=kind == "importance")
    if block is not None:
        refuse_unused(reading.options.keys() - {"method"}, by=f"Figure {name!r} of a joint method")
        return block, {"title": block_title(block)}
    if kind in EVIDENCE_TABLES:
        return _evidence_table(run, kind, name, reading, method=method, positions=positions)
    check_scored(run, method, by=f"Figure {name!r}")
    # Of an importance any score of any method, by category.
    return _map_table(run, "members" if kind == "importance" else kind, name, reading)


def _evidence_table(
    run: RunResults, table: str, name: str, reading: MapSpec, *, method: str | None, positions: str | None
) -> _Given:
    """A table of the evidence that is saved in a results folder; `OptionError` where none is for these options."""
    refuse_unused(reading.options.keys() & {"sign", "rule", "min-tasks"}, by=f"Figure {name!r}")
    criteria = {"effect": reading.effect}
    # `positions` are those at which heads were ablated.
    criteria |= {"metric": reading.metric} if reading.metric else {}
    criteria |= {"positions": positions} if positions is not None else {}
    saved = saved_evidence(run)
    for folder, problem in saved.problems.items():
        warn(f"{folder} is left out: {problem}")
    for evidence in saved.contents.values():
        options = json.loads(evidence.attrs["options"])
        names = (None, options["method"], Label.parse(options["method"]).method)
        if method in names and all(value == str(options[key]) for key, value in criteria.items()):
            by = f"{options['method']}, {options['metric']}"
            title = f"Held-out prompts, heads by {by}, model {options['model']}"
            return evidence[table].to_dataset(), {"title": title}
    criteria |= {"method": method} if method is not None else {}
    place = place_of(run)
    raise OptionError(
        f"Figure {name!r} reads what `headcats evidence {shlex.quote(str(place))}` saves, and {place} holds none with "
        f"these options ({', '.join(f'{key} {value}' for key, value in criteria.items())}). Run that first, with the "
        "same options."
    )


def _map_table(run: RunResults, table: str, name: str, reading: MapSpec) -> _Given:
    reading = reading.resolve(run)
    note_control(reading.label.method)
    tables = kept_tables(run, reading)
    if table not in tables:
        raise OptionError(
            f"Figure {name!r} reads {table!r}; a results folder gives {', '.join(tables)}. Call it from Python."
        )
    parameters = inspect.signature(lookup("figure", name)).parameters.values()
    takes_members = any(option.name == "members" and option.kind is option.KEYWORD_ONLY for option in parameters)
    if table == "scores" and not takes_members:
        return tables[table], {"title": reading.scores_title}
    tell(not_judged(MapResult(reading, tables)))
    members = {"members": tables["overlap"]} if takes_members else {}
    return tables[table], {"title": reading.title, **members}


def _figure_options(draw: Callable[..., Any], name: str, texts: Sequence[str]) -> dict[str, Any]:
    """`NAME=VALUE` texts as options of a figure, each of the kind that the figure's signature names."""
    parameters = inspect.signature(draw).parameters.values()
    kinds = {option.name: option.annotation for option in parameters if option.kind is option.KEYWORD_ONLY}
    options = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise OptionError(f"--set takes NAME=VALUE; got {text!r}. Options of {name}: {', '.join(kinds)}.")
        if key not in kinds:
            raise UnknownNameError(unknown_name_message(f"option of figure {name}", key, list(kinds)))
        options[key] = _value(value, kinds[key], f"Option {key} of figure {name}")
    return options


def _value(text: str, annotation: Any, option: str) -> Any:
    """A text as the number, list (`A,B` or JSON) or text that an option takes; as JSON where it does not say."""
    kinds = get_args(annotation) or (annotation,)
    if float in kinds:
        try:
            return float(text)
        except ValueError:
            if str not in kinds:
                raise OptionError(f"{option} must be a number; got {text!r}.") from None
    takes_list = any(get_origin(kind) is Sequence for kind in kinds)
    if str in kinds and not takes_list:
        return text
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    if takes_list and not isinstance(value, list):
        return [word.strip() for word in text.split(",") if word.strip()]
    return value
