"""From a results tree to the overlap map, as `run`, `map` and `figure` do it."""

import inspect
import json
from pathlib import Path
from typing import Any

import xarray as xr

from headcats.categories import categorize, head_table, overlap
from headcats.cli.console import out, table
from headcats.errors import OptionError, UnknownNameError
from headcats.registry import lookup, unknown_name_message
from headcats.results import ResultsFolder, slug
from headcats.rules import Rule
from headcats.scores import score, screen_label

LARGE_EFFECT = 0.1


def parse_rule(text: str) -> Rule:
    """`fdr:alpha=0.05,min_effect=0.1` as a rule.

    Raises:
        UnknownNameError: Unknown rule or option.
        OptionError: A value that is no number, or an option missing.
    """
    name, _, listed = text.partition(":")
    make = lookup("rule", name.strip())
    known = inspect.signature(make).parameters
    options: dict[str, Any] = {}
    for part in filter(None, listed.split(",")):
        key, _, value = (word.strip() for word in part.partition("="))
        if key not in known:
            raise UnknownNameError(unknown_name_message(f"option of rule {name}", key, known))
        try:
            options[key] = json.loads(value)
            if isinstance(options[key], bool) or not isinstance(options[key], int | float):
                raise ValueError(value)
        except ValueError:
            raise OptionError(
                f"Option {key} of rule {name} must be a number, got {value!r}: write {name}:{key}=0.05."
            ) from None
    try:
        return make(**options)
    except TypeError as error:
        raise OptionError(f"Rule {text!r}: {error}. Options: {', '.join(known) or 'none'}.") from None


def parse_min_tasks(text: str) -> int | str:
    """`half` or a whole number."""
    if text == "half" or text.isdigit():
        return text if text == "half" else int(text)
    raise OptionError(f"--min-tasks is 'half' or a whole number; got {text!r}.")


def default_method(results: xr.DataTree) -> tuple[str, str]:
    """The method and positions to map when none is named: the first that was run, an exact one before a screen."""
    labels = list(dict.fromkeys(label for task in results.children.values() for label in task.children))
    if not labels:
        raise OptionError("These results hold no scored task yet.")
    order = json.loads(results.attrs["manifest"]).get("methods", [])
    scored = [label for label in order if label in labels] or labels
    first = next((label for label in scored if shown_label(results, label) == label), scored[0])
    name, _, positions = first.rpartition("@")
    return name, positions


def tables(
    results: xr.DataTree,
    *,
    method: str | None = None,
    positions: str | None = None,
    metric: str | None = None,
    rule: str,
    min_tasks: str = "half",
) -> dict[str, xr.Dataset]:
    """`scores`, `members` and `overlap` of results; what is not named is the first there is."""
    if method is None:
        method, positions = default_method(results)
    elif "@" in method:
        # As `run` names it.
        method, _, named = method.rpartition("@")
        if positions not in (None, named):
            raise OptionError(f"--method {method}@{named} and --positions {positions} contradict each other: name one.")
        positions = named
    metric = metric or json.loads(results.attrs["manifest"])["plan"]["metrics"][0]
    judge = parse_rule(rule)
    # As many sign draws as the rule's own level needs.
    alpha = judge.options.get("alpha", 0.05)
    scores = score(results, method=method, metric=metric, positions=positions, alpha=alpha)
    members = categorize(scores, rule=judge, min_tasks=parse_min_tasks(min_tasks))
    return {"scores": scores, "members": members, "overlap": overlap(members)}


def title(found: dict[str, xr.Dataset]) -> str:
    """One line on what a map shows."""
    attrs = found["members"].attrs
    screen = screen_label(found["members"])
    said = f", {screen}," if screen else ""
    return f"{attrs['method']}{said} at {attrs['positions']}, {attrs['metric']}, rule {attrs['rule']}"


def shown_label(results: xr.DataTree, label: str) -> str:
    """A method@positions of some results, called a screen where its numbers are estimates."""
    blocks = (task[label].to_dataset() for task in results.children.values() if label in task.children)
    screen = next((screen_label(block) for block in blocks), "")
    return f"{label} ({screen})" if screen else label


def file_of(stem: str, suffix: str, found: dict[str, xr.Dataset], results: xr.DataTree) -> str:
    """File of a map or list in its results folder: `stem.suffix` for the default method; others carry their name."""
    shown = (found["members"].attrs["method"], found["members"].attrs["positions"])
    return f"{stem}{'' if shown == default_method(results) else '-' + slug('@'.join(shown))}.{suffix}"


def print_map(found: dict[str, xr.Dataset]) -> None:
    """The head list, the counts of shared heads beside those expected by chance, and what the data can reach."""
    members, shared = found["members"], found["overlap"]
    out.print(f"\nHeads by {title(found)}")
    heads = head_table(shared)
    rows = []
    for category in members["category"].values.tolist():
        n, needed = (int(members[name].sel(category=category)) for name in ("n_tasks", "min_tasks"))
        mine = heads[heads["category"] == category]
        helping, suppressing = (mine[mine["kind"] == kind]["head"].tolist() for kind in ("helping", "suppressing"))
        undecided = int(
            (members["member"].sel(category=category) == 0)
            .where(members["effect"].sel(category=category).notnull())
            .sum()
        )
        rows.append(
            [
                category,
                f"{needed} of {n}",
                str(len(helping)),
                " ".join(helping) or "none",
                " ".join(suppressing) or "none",
                str(undecided),
            ]
        )
    columns = [
        "category",
        "tasks needed",
        "heads",
        "heads in the category (largest effect first)",
        "suppressing",
        "undecided",
    ]
    out.print(table("", columns, rows, numeric=frozenset({"heads", "undecided"})))
    ks = shared["k"].values.tolist()
    counts = [
        [
            f"{k} categor{'y' if k == 1 else 'ies'}",
            str(int(shared["observed"].sel(k=k))),
            *(
                f"{float(shared[name].sel(k=k)):.{digits}f}"
                for name, digits in (("expected", 1), ("p", 4), ("expected_within_layers", 1), ("p_within_layers", 4))
            ),
        ]
        for k in ks
    ]
    columns = ["heads in exactly", "observed", "expected by chance", "p", "expected within layers", "p within layers"]
    out.print(
        table(
            "\nShared heads against chance (independence of the categories, not specificity)",
            columns,
            counts,
            numeric=frozenset(columns[1:]),
        )
    )
    scores = found["scores"]
    if screen := screen_label(scores):
        out.print(f"\nThis is a {screen}: estimates for choosing heads, no verdict. Patch them with an exact method.")
    if "below_noise" in scores:
        out.print(
            f"\n{int(scores['below_noise'].sum())} of {int(scores['effect'].notnull().sum())} effects (head x task) "
            "lie below twice the noise of one prompt in the model's 16-bit numbers: not told from rounding."
        )
    large = int((abs(scores["effect"]) >= LARGE_EFFECT).sum())
    out.print(f"\n{scores.attrs['reach']}")
    out.print(
        f"{int(scores['sign_differs'].sum())} of {large} effects of at least {LARGE_EFFECT} (head x task) change their "
        "sign with the distractor task: read those per distractor task (`distractor_effect` of hc.score)."
    )


def write_heads(found: dict[str, xr.Dataset], results: xr.DataTree, folder: Path) -> Path:
    """The head list as `heads.csv` of a results folder (see `file_of`)."""
    text, name = (
        head_table(found["overlap"]).to_csv(index=False, lineterminator="\n"),
        file_of("heads", "csv", found, results),
    )
    ResultsFolder(folder).write_bytes(name, text.encode("utf-8"))
    return folder / name
