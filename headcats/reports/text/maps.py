"""What a category map says: its heads, how sure they are, what categories share, and what the data can reach."""

from collections.abc import Iterator, Mapping

import numpy as np
import xarray as xr

from headcats.categories.equal_tasks import subsampled_overlap
from headcats.categories.head_list import head_table
from headcats.categories.reading import Reading
from headcats.errors import DataError, pluralize
from headcats.reports.text.agreement import NOT_JUDGED, WHY_NOT_JUDGED
from headcats.reports.text.table import Finding, Note, Paragraph, table
from headcats.results.declaration import approximation_label, controls_of
from headcats.scores.reach import POWER, detectable_above, over_tasks

LARGE_EFFECT = 0.1
# A head that is in a category in fewer resamples than this is named.
SETTLED = 0.8


def map_findings(tables: Mapping[str, xr.Dataset], reading: Reading) -> Iterator[Finding]:
    """The head list, shared heads beside chance, overlap with intervals, and what the data can reach.

    Args:
        tables: What `headcats.categories.reading.map_tables` returns.
        reading: What they are of.
    """
    yield from not_judged(tables)
    yield from head_findings(tables, reading)
    yield from shared_findings(tables, reading)


def shared_findings(tables: Mapping[str, xr.Dataset], reading: Reading) -> Iterator[Finding]:
    """What follows the head list in `map_findings`, which has the same arguments; nothing where no head is judged."""
    if not_judged(tables):
        return  # nothing more is known
    if int(tables["overlap"]["effect"].notnull().any(("layer", "head")).sum()) > 1:
        yield from count_findings(tables["overlap"])
        yield from _jaccard(tables["overlap"])
    else:
        yield Paragraph("Only one category has numbers, so there is nothing to share.")
    yield from _equal_tasks(tables, reading)
    yield from _reach(tables["scores"], reading)


def not_judged(tables: Mapping[str, xr.Dataset]) -> list[Note]:
    """A note where the rule could judge no head, with its reason; none otherwise.

    Args:
        tables: What `headcats.categories.reading.map_tables` returns.
    """
    why = str(tables["members"].attrs.get("not_judged", ""))
    return [Note(f"No head can be judged, so the map shows every head as undecided: {why}")] if why else []


def head_findings(tables: Mapping[str, xr.Dataset], reading: Reading) -> Iterator[Finding]:
    """The heads of every category, and which of them the data do not settle.

    Args:
        tables: What `headcats.categories.reading.map_tables` returns.
        reading: What they are of.
    """
    members = tables["members"]
    heads = head_table(members)
    suppressing = reading.sign == "suppressing"
    prefix = "suppressing_" if suppressing else ""
    rows = []
    for category in members["category"].values.tolist():
        one = members.sel(category=category)
        n, needed = (int(one[name]) for name in ("n_tasks", "min_tasks"))
        mine = heads[heads["category"] == category]
        listed = [" ".join(mine[mine["kind"] == kind]["head"]) or "none" for kind in ("helping", "suppressing")]
        undecided = int((one["suppressing" if suppressing else "member"] == 0).where(one["effect"].notnull()).sum())
        expected = float(one["size_expected"]) if "size_expected" in one else float("nan")
        size = str(int(one[f"{prefix}size"]))
        if one["effect"].notnull().any():
            rows.append([category, f"{needed} of {n}", size, _number(expected, 1), *listed, str(undecided)])
        else:
            rows.append([category, f"{needed} of {n}", *[NOT_JUDGED] * 5])
    counted = "suppressing heads" if suppressing else "heads"
    columns = ["category", "tasks needed", counted, "without effect", "helping (largest effect first)", "suppressing"]
    columns.append("undecided")
    yield table(f"Heads by {reading.title}", columns, rows, numeric=(counted, "without effect", "undecided"))
    if members["effect"].isnull().all(("layer", "head")).any():
        yield WHY_NOT_JUDGED
    yield "`without effect`: how many heads the same rule finds on average if no head has any effect."
    if "probability" in heads:
        kind = "suppressing" if suppressing else "helping"
        mine = heads[heads["kind"] == kind]
        loose = mine[mine["probability"] < SETTLED]
        named = [f"{row.head} {row.category} ({row.probability:.2f})" for row in loose.itertuples()]
        if named:
            yield f"In fewer than {SETTLED:.0%} of the resamples of query items: {', '.join(named)}."
        elif mine["probability"].notna().any():
            yield f"Every {kind} head is in its category in at least {SETTLED:.0%} of the resamples of query items."


def count_findings(shared: xr.Dataset) -> Iterator[Finding]:
    """How many heads are in exactly k categories, beside chance."""
    if not int(shared["observed"].sum()):
        kind = "suppressing" if shared.attrs.get("sign") == "suppressing" else "helping"
        yield Paragraph(f"No {kind} head is in any category: nothing is shared.")
        return
    counts = [
        [
            pluralize(k, "category", "categories"),
            str(int(shared["observed"].sel(k=k))),
            *(
                f"{float(shared[name].sel(k=k)):.{digits}f}"
                for name, digits in (("expected", 1), ("p", 4), ("expected_within_layers", 1), ("p_within_layers", 4))
            ),
        ]
        for k in shared["k"].values.tolist()
    ]
    columns = ["heads in exactly", "observed", "expected by chance", "p", "expected within layers", "p within layers"]
    heading = "Shared heads against chance (independence of the categories, not specificity)"
    yield table(heading, columns, counts, numeric=columns[1:])
    yield "p: share of random maps in which at least as many heads are in so many categories."


def _jaccard(shared: xr.Dataset) -> Iterator[Finding]:
    names = shared["category"].values.tolist()
    if len(names) < 2 or not shared["jaccard"].notnull().any():
        return
    rows = []
    for place, name in enumerate(names):
        cells = [_with_bounds(shared.sel(category=name, other=other), "jaccard") for other in names[:place]]
        rows.append([name, *cells, *[""] * (len(names) - 1 - place)])
    heading = "Overlap: heads in both categories / heads in either (95 % interval over resamples of items)"
    yield table(heading, ["", *names[:-1]], rows[1:], numeric=names)


def _equal_tasks(tables: Mapping[str, xr.Dataset], reading: Reading) -> Iterator[Finding]:
    counts = {int(n) for n in tables["members"]["n_tasks"].values if n}
    min_tasks = reading.min_tasks
    if len(counts) < 2 or (min_tasks != "half" and int(min_tasks) > min(counts)) or reading.sign == "suppressing":
        return
    try:
        equal = subsampled_overlap(tables["scores"], rule=reading.rule, min_tasks=min_tasks)
    except DataError as error:
        yield Paragraph(f"Categories cannot be compared at equal numbers of tasks: {error}")
        return
    rows = [
        [
            name,
            str(int(tables["members"]["size"].sel(category=name))),
            _with_bounds(equal.sel(category=name), "size", 1),
        ]
        for name in equal["category"].values.tolist()
    ]
    k = [f"{_number(float(equal['observed'].sel(k=k)), 1)} heads in exactly {k}" for k in equal["k"].values.tolist()]
    subsets, judged = equal.attrs["subsets"], equal.attrs["judged"]
    drawn = f"{subsets} random subsets" if judged == subsets else f"{judged} judged of {subsets} random subsets"
    heading = f"With {pluralize(int(equal['n_tasks']), 'task')} of each category ({drawn}; range)"
    columns = ["category", "heads, all tasks", "heads, equal tasks"]
    yield table(heading, columns, rows, numeric=columns[1:])
    yield f"On average {', '.join(k)}."
    if min_tasks != "half":
        yield f"With so many tasks, `--min-tasks {min_tasks}` asks for {min_tasks} of {int(equal['n_tasks'])}."


def _reach(scores: xr.Dataset, reading: Reading) -> Iterator[Finding]:
    if label := approximation_label(scores):
        yield Paragraph(
            f"This is a {label}: estimates for choosing heads, no verdict. Patch them with an exact method."
        )
    if "below_noise" in scores:
        yield Paragraph(
            f"{int(scores['below_noise'].sum())} of {int(scores['effect'].notnull().sum())} effects (head x task) "
            "lie below twice the noise of one prompt in the model's 16-bit numbers: not told from rounding."
        )
    if reading.sign != "suppressing":
        yield from _controls(scores)
    yield Paragraph(scores.attrs["reach"])
    least = reading.rule.options.get("min_effect", 0)
    # Of the tasks that the sentence above speaks of.
    clear = scores.isel(task=(scores["gap_low"] > 0).values)
    if least > 0 and (effects := over_tasks(detectable_above(clear, least))):
        finds = f"{reading.rule} finds with {POWER:.0%} probability"
        yield f"Smallest effect of one head on one task that {finds}: {effects}."
    # With shuffled labels there is one kind of corrupted prompt, and no distractor task.
    if differing := int(scores["sign_differs"].sum()):
        large = int((abs(scores["effect"]) >= LARGE_EFFECT).sum())
        yield (
            f"{differing} of {large} effects of at least {LARGE_EFFECT} (head x task) change their sign with the "
            "distractor task: read those per distractor task (`distractor_effect` of hc.score)."
        )


def _controls(scores: xr.Dataset) -> Iterator[Finding]:
    if not (controls := controls_of(scores.attrs["method"])) or scores.attrs.get("effect") == "task_specific":
        return
    said = [
        _need(scores[name].values, what, other)
        for name, what, other in (
            ("task_share", "the right task", "the other wrong task"),
            ("item_share", "the right query item", "the other item"),
        )
        if name in scores
    ]
    if said:
        more = " Task-specific effects alone: `--effect task_specific`." if "task_share" in scores else ""
        yield Paragraph(f"{' '.join(said)}{more}")
    else:
        yield Paragraph(
            "How much of these effects is specific to the task is not known: "
            f"{' and '.join(controls.values())} were not run."
        )


def _need(shares: np.ndarray, what: str, other: str) -> str:
    known = 100 * shares[np.isfinite(shares)]
    if not len(known):
        return f"What share of the effects needs {what} is not known."
    median, least, most = (round(value) for value in (np.median(known), known.min(), known.max()))
    negative = f"; negative: {other} brings back more than the clean prompt" if least < 0 else ""
    share = f"{median} % of the effect needs {what}" if median >= 0 else f"None of the effect needs {what} ({median} %)"
    return f"{share} (median task; {least} % to {most} %{negative})."


def _with_bounds(cell: xr.Dataset, name: str, digits: int = 2) -> str:
    value = float(cell[name])
    if np.isnan(value) or f"{name}_low" not in cell or np.isnan(float(cell[f"{name}_low"])):
        return _number(value, digits)
    low, high = (float(cell[f"{name}_{end}"]) for end in ("low", "high"))
    return f"{value:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def _number(value: float, digits: int) -> str:
    return "-" if np.isnan(value) else f"{value:.{digits}f}"
