"""From a results tree to the overlap map, as `run`, `map`, `figure` and the page do it."""

import json
import warnings
from collections.abc import Mapping
from pathlib import Path

import xarray as xr

from headcats.categories import categorize, head_table, overlap
from headcats.errors import OptionError, StatisticsWarning, TooFewItemsError
from headcats.file_names import marks
from headcats.methods.declaration import declarations, registered
from headcats.results import Label, manifest_of, suite_blocks, task_nodes, write_whole
from headcats.rules import Rule
from headcats.rules.text import parse_rule
from headcats.scores import first_exact, score, screen_label

EFFECTS, SIGNS = ("total", "task_specific"), ("helping", "suppressing")
_UNDECIDED = Rule(lambda scores: xr.zeros_like(scores["effect"], dtype=int), name="undecided")


def parse_min_tasks(text: str | int) -> int | str:
    """`half` or a whole number, also of a text.

    Raises:
        OptionError: Something else.
    """
    if text == "half":
        return text
    if str(text).isdecimal() and int(text):
        return int(text)
    raise OptionError(f"--min-tasks is 'half' or a whole number of at least 1; got {text!r}.")


def control_note(method: str) -> str:
    """What a map of a control cannot say; "" for methods that are none."""
    about = registered(Label.parse(method).name)
    return f"{about.name} is a control: {about.caution}" if about.control_of else ""


def default_label(results: xr.DataTree) -> Label:
    """The method to map when none is named: the first that was run, an exact one before a screen."""
    label = first_exact(results)
    if label is None:
        raise OptionError("These results hold no scored task yet.")
    return label


def tables(
    results: xr.DataTree,
    *,
    method: str | None = None,
    positions: str | None = None,
    metric: str | None = None,
    effect: str = "total",
    rule: str | Rule,
    min_tasks: str | int = "half",
    sign: str = "helping",
    undecided: bool = False,
) -> dict[str, xr.Dataset]:
    """`scores`, `members` and `overlap` of results; what is not named is the first there is.

    Data with too few items for the rule to judge any head are an error; with `undecided` every head is undecided
    instead, and the attribute `not_judged` of the members says why.

    Args:
        results: As `hc.load` returns them, or `of_run` of them.
        method: `name` or `name@positions`.
        positions: Where the method was run.
        metric: A metric of the run.
        effect: "total" or "task_specific".
        rule: A rule, or its text.
        min_tasks: "half" or how many tasks of a category must agree.
        sign: "helping" or "suppressing".
        undecided: What to do where the rule can judge no head.
    """
    label = default_label(results) if method is None else Label.parse(method)
    if method is not None and label.positions and positions not in (None, label.positions):
        raise OptionError(f"--method {label} and --positions {positions} contradict each other: name one.")
    positions = positions or label.positions or None
    manifest = manifest_of(results)
    metric = metric or manifest.plan.metrics[0]
    judge, needed = parse_rule(rule), parse_min_tasks(min_tasks)
    # As many sign draws as the rule's own level needs.
    alpha = judge.options.get("alpha", 0.05)
    scores = score(results, method=label.method, metric=metric, positions=positions, effect=effect, alpha=alpha)
    try:
        members = categorize(scores, rule=judge, min_tasks=needed)
    except TooFewItemsError as error:
        if not undecided:
            raise
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StatisticsWarning)  # said just now
            members = categorize(scores, rule=_UNDECIDED, min_tasks=needed)
        if "size_expected" in members:
            members["size_expected"] = members["size_expected"] * float("nan")
        members.attrs |= {"rule": repr(judge), "not_judged": str(error)}
    # For titles and file names.
    members.attrs |= {"asked_min_tasks": str(needed), "model": manifest.model.name}
    return {"scores": scores, "members": members, "overlap": overlap(members, sign=sign)}


def of_run(results: xr.DataTree, *others: xr.DataTree) -> xr.DataTree:
    """A copy of results without the suite's categories that neither they nor the others have tried a task of.

    A category whose tasks were all refused stays.
    """
    known = set().union(*(categories_tried(one) for one in (results, *others)))
    listed = [entry for entry in json.loads(results.attrs["categories"]) if entry["name"] in known]
    found = results.copy()
    if listed:
        found.attrs = {**results.attrs, "categories": json.dumps(listed, ensure_ascii=False)}
    return found


def categories_tried(results: xr.DataTree, method: str | None = None) -> dict[str, list[str]]:
    """Category of every task that a run has tried, refused ones too -> what of it was refused.

    Args:
        results: As `hc.load` returns them.
        method: A method over the whole suite, with its options, to leave all others out; None takes everything.
    """
    manifest, found = manifest_of(results), dict[str, list[str]]()
    for task, record in manifest.tasks.items() if method is None else ():
        found.setdefault(record.category, []).extend([task] if record.refusal else [])
    for label, joint in manifest.joint_blocks.items():
        for task, category in joint.tasks.items() if method in (None, label) else ():
            found.setdefault(category, []).extend([task] if task in joint.skipped() else [])
    declared = declarations(results)
    for label, block in suite_blocks(results).items():
        strength = declared[label].strength if method in (None, label) else None
        for name in block[strength.group].values.tolist() if strength and strength.group in block.coords else ():
            found.setdefault(str(name), [])
    return found


def title(found: Mapping[str, xr.Dataset], *, judged: bool = True) -> str:
    """One line on what a map shows, or a figure of the scores, which no rule has judged yet."""
    attrs = found["members"].attrs
    told = [
        screen_label(found["members"]),
        "task-specific effects" if attrs.get("effect") == "task_specific" else "",
        "suppressing heads" if judged and found["overlap"].attrs.get("sign") == "suppressing" else "",
    ]
    said = "".join(f", {mark}" for mark in told if mark)
    where = f"{',' if said else ''} at {attrs['positions']}"
    asked = attrs.get("asked_min_tasks", "half")
    least = "half of the tasks" if asked == "half" else f"{asked} task{'' if asked == '1' else 's'}"
    of = f", model {attrs['model']}" if attrs.get("model") else ""
    rule = f", rule {attrs['rule']} in at least {least}" if judged else ""
    return f"{attrs['method']}{said}{where}, {attrs['metric']}{rule}{of}"


def shown_label(results: xr.DataTree, label: str) -> str:
    """A method@positions of some results, called a screen where its numbers are estimates."""
    blocks = (task[label].to_dataset() for task in task_nodes(results).values() if label in task.children)
    screen = next((screen_label(block) for block in blocks), "")
    return f"{label} ({screen})" if screen else label


def file_of(stem: str, suffix: str, found: Mapping[str, xr.Dataset], results: xr.DataTree) -> str:
    """File of a map or list in its results folder: `stem.suffix`; what is not the default is in its name."""
    attrs = found["members"].attrs
    parts = marks(
        results,
        label=Label.parse(attrs["method"]).at(attrs["positions"]),
        metric=attrs["metric"],
        effect=attrs.get("effect", "total"),
        sign=found["overlap"].attrs.get("sign", "helping"),
        rule=attrs["rule"],
        min_tasks=attrs.get("asked_min_tasks", "half"),
    )
    return f"{'-'.join([stem, *parts])}.{suffix}"


def write_heads(found: Mapping[str, xr.Dataset], results: xr.DataTree, folder: Path) -> Path:
    """The head list as `heads.csv` of a results folder (see `file_of`)."""
    text, name = (
        head_table(found["overlap"]).to_csv(index=False, lineterminator="\n"),
        file_of("heads", "csv", found, results),
    )
    write_whole(folder / name, text.encode("utf-8"))
    return folder / name
