"""`headcats figure`: one figure from a results folder; loads no torch."""

import inspect
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_args, get_origin

import typer

from headcats.cli import completion
from headcats.cli.arguments import AsJson, Effect, Folder, Method, Metric, MinTasks, Positions, RuleText, Sign
from headcats.cli.as_json import put
from headcats.cli.checks import note_control, refuse_unused
from headcats.cli.console import tell
from headcats.errors import OptionError, UnknownNameError
from headcats.registry import lookup, unknown_name_message
from headcats.study.defaults import DEFAULT_RULE

if TYPE_CHECKING:
    import xarray as xr

    from headcats.categories.reading import Reading

Table: TypeAlias = "tuple[xr.Dataset, str]"
"""What a figure reads, and its title."""


def figure_command(
    name: Annotated[
        str,
        typer.Argument(help="Name of a figure; see `headcats list figures`.", autocompletion=completion.figures),
    ],
    folder: Folder,
    destination: Annotated[Path, typer.Option("--out", help="File to write: .html, .png, .svg or .pdf.")],
    method: Method = None,
    positions: Positions = None,
    metric: Metric = None,
    effect: Effect = "total",
    rule: RuleText = DEFAULT_RULE,
    min_tasks: MinTasks = "half",
    sign: Sign = "helping",
    options: Annotated[
        list[str] | None,
        typer.Option("--set", help="Option of the figure as NAME=VALUE, such as score=facilitation; repeatable."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Draw one figure from a results folder.

    Examples:
    - `headcats figure head_grid results/mini-icl --out grid.html`
    - `headcats figure overlap_map results/mini-icl --sign suppressing --out suppressing.svg`
    - `headcats figure set_counts results/mini-icl --set palette=colour_blind --out sets.png`
    - `headcats figure always_any results/gates --set score=facilitation --out gates.html`

    Images (.png, .svg, .pdf) need kaleido and Chrome or Chromium; .html needs neither.

    Keys of `--json`: `figure`, `file`, `title`.
    """
    if Path(name).is_dir():
        raise OptionError(f"The figure comes first: headcats figure {folder} {name} --out {destination}.")
    drawn = lookup("figure", name)
    if not destination.absolute().parent.is_dir():
        raise OptionError(f"There is no folder {destination.parent} for {destination.name}: make it first.")
    from headcats.categories.reading import EVIDENCE_TABLES, Reading
    from headcats.figures import reads, write
    from headcats.reports.text.joint_blocks import joint_block, suite_title
    from headcats.results.folder import load
    from headcats.results.tree import drop_untried_categories

    reading = Reading.parse(
        method=method,
        positions=positions,
        metric=metric,
        effect=effect,
        rule=rule,
        min_tasks=min_tasks,
        sign=sign,
    )
    arguments = _options(drawn, name, options or [])
    scoring = [option for option in reading.options if option != "method"]
    results, wanted = drop_untried_categories(load(folder)), reads(drawn)
    # `importance_grid` shows any score over layers and heads.
    block = joint_block(results, name, method=method, any_method=wanted == "importance")
    if block is not None:
        refuse_unused(scoring, by=f"Figure {name!r} of a joint method")
        table, heading = block, suite_title(block)
    elif wanted == "agreement":
        refuse_unused(
            [option for option in scoring if option != "metric"], by=f"Figure {name!r}, which shows all methods,"
        )
        table, heading = _of_methods(results, metric, method)
    elif wanted in EVIDENCE_TABLES:
        table, heading = _of_evidence(folder, wanted, name, reading, method=method, positions=positions)
    else:
        if wanted == "importance":
            wanted = "members"  # any score of any method, by category
        from headcats.reports.text.suggestions import check_scored

        check_scored(results, folder, method, by=f"Figure {name!r}")
        table, heading = _of_scores(results, wanted, name, reading)
    titled = {"title": heading} if "title" in inspect.signature(drawn).parameters else {}
    file = write(drawn(table, **(titled | arguments)), destination)
    if as_json:
        put({"figure": name, "file": file, "title": heading})
    else:
        tell([f"Wrote {file}"])


def _of_methods(results: "xr.DataTree", metric: str | None, method: str | None) -> Table:
    if method is not None:
        raise OptionError("Agreement is between all methods of the results, so --method does not apply: leave it out.")
    from headcats.evidence.comparison.method_agreement import method_agreement
    from headcats.evidence.comparison.method_grid import method_scores
    from headcats.results.tree import manifest_of

    model = manifest_of(results).model.name
    return method_agreement(method_scores(results, metric=metric)), f"Methods on one grid of heads, model {model}"


def _of_evidence(
    folder: Path, wanted: str, name: str, reading: "Reading", *, method: str | None, positions: str | None
) -> Table:
    """A table of the evidence that is saved in a results folder.

    Raises:
        OptionError: None is, or none for these options.
    """
    from headcats.reports.page.saved import saved_evidence
    from headcats.results.label import Label

    refuse_unused(reading.options.keys() & {"sign"}, by=f"Figure {name!r}")
    criteria = {"rule": repr(reading.rule), "effect": reading.effect, "min_tasks": str(reading.min_tasks)}
    # `positions` are those at which heads were ablated.
    criteria |= {"metric": reading.metric} if reading.metric else {}
    criteria |= {"positions": positions} if positions is not None else {}
    for saved in saved_evidence(folder):
        options = json.loads(saved.tree.attrs["options"])
        names = (None, options["method"], Label.parse(options["method"]).method)
        if method in names and all(value == str(options[key]) for key, value in criteria.items()):
            by = f"{options['method']}, {options['metric']}, rule {options['rule']}"
            return saved.tree[wanted].to_dataset(), f"Held-out prompts, heads by {by}, model {options['model']}"
    criteria |= {"method": method} if method is not None else {}
    raise OptionError(
        f"Figure {name!r} reads what `headcats evidence {folder}` saves, and {folder} holds none with these options "
        f"({', '.join(f'{key} {value}' for key, value in criteria.items())}). Run that first, with the same options."
    )


def _of_scores(results: "xr.DataTree", wanted: str, name: str, reading: "Reading") -> Table:
    from headcats.categories.reading import map_tables
    from headcats.reports.text.maps import not_judged

    reading = reading.resolve(results)
    note_control(reading.label)
    tables = map_tables(results, reading)
    if wanted not in tables:
        raise OptionError(
            f"Figure {name!r} reads {wanted!r}; a results folder gives {', '.join(tables)}. Call it from Python."
        )
    if wanted == "scores":
        return tables[wanted], reading.scores_title
    tell(not_judged(tables))
    return tables[wanted], reading.title


def _options(drawn: Callable[..., Any], name: str, given: Sequence[str]) -> dict[str, Any]:
    """`NAME=VALUE` texts as options of a figure, each of the kind that the figure's signature names.

    Raises:
        OptionError: No `=`, or no number where one is needed.
        UnknownNameError: An option that the figure does not have.
    """
    known = {
        key: one.annotation for key, one in inspect.signature(drawn).parameters.items() if one.kind is one.KEYWORD_ONLY
    }
    chosen = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals:
            raise OptionError(f"--set takes NAME=VALUE; got {text!r}. Options of {name}: {', '.join(known)}.")
        if key not in known:
            raise UnknownNameError(unknown_name_message(f"option of figure {name}", key, list(known)))
        chosen[key] = _value(value, known[key], f"Option {key} of figure {name}")
    return chosen


def _value(text: str, annotation: Any, what: str) -> Any:
    """A text as the number, list (`A,B` or JSON) or text that an option takes; as JSON where it does not say."""
    kinds = get_args(annotation) or (annotation,)
    if float in kinds:
        try:
            return float(text)
        except ValueError:
            if str not in kinds:
                raise OptionError(f"{what} must be a number; got {text!r}.") from None
    listed = any(get_origin(kind) is Sequence for kind in kinds)
    if str in kinds and not listed:
        return text
    try:
        found = json.loads(text)
    except ValueError:
        found = text
    if listed and not isinstance(found, list):
        return [word.strip() for word in text.split(",") if word.strip()]
    return found
