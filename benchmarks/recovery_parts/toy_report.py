"""The work "toys" of the benchmark: toys by effect, noise and number of prompts, and what is shown of them."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
from sections import Table

from headcats.papers.planted.planted_tasks import CATEGORIES, N_HEADS, N_LAYERS, TASKS_PER_CATEGORY
from headcats.statistics.random_streams import stream
from recovery_parts.repeat import side_by_side
from recovery_parts.tables import Part
from recovery_parts.toy_pairs import pairs
from recovery_parts.toy_recovery import JOBS, RULES, recovered

REPETITIONS = 2
PAIR_EFFECT, PAIR_NOISE = 0.1, 0.15
_TEXT = ("method", "pair")
_NAMES = {"helping": "two heads side by side", "or": "OR: either is enough", "and": "AND: both are needed"}
_PLANTED = {kind: sum(count for one, _, count in JOBS if one == kind) for kind, *_ in JOBS}
_SETTING = (
    f"Transformers of {N_LAYERS} layers x {N_HEADS} heads with weights set by hand, {len(CATEGORIES)} categories x "
    f"{TASKS_PER_CATEGORY} tasks of 25 to 45 query items, denoising patch, min_tasks half. Planted: "
    f"{_PLANTED['helping']} helping heads (four in two or three categories), {_PLANTED['suppressing']} suppressing, "
    f"{_PLANTED['one task']} that help in one task only (members of nothing); {_PLANTED['none']} heads do nothing. "
    "Effect and SD (of one head in one prompt, half of the variance being the item's) in shares of the gap. The heads "
    "of redundant pairs are not counted. "
)
_READING = (
    "– where nothing was called. An effect of 0.05 is called with `min_effect=0.05` by chance only. "
    "The upper tenth of 32 heads is three per task, and five or six serve each task."
)


def report(
    *,
    effects: Sequence[float] = (0.05, 0.1, 0.2, 0.3),
    noises: Sequence[float] = (0.1, 0.15, 0.3),
    prompts: Sequence[int] = (16, 32, 64),
    repetitions: int | None = None,
    processes: int = 1,
    seed: int = 0,
    note: Callable[[str], None] = lambda text: None,
) -> Part:
    """Plant, sweep, score, categorize and count. The default takes 5 to 8 minutes on one core."""
    toys = repetitions or REPETITIONS
    points = [(effect, noise) for effect in effects for noise in noises]
    calls: list[partial] = [
        partial(recovered, effect=effect, noise=noise, prompts=tuple(prompts), seed=one)
        for effect, noise in points
        for one in _seeds(seed, f"effect {effect:g} noise {noise:g}", toys)
    ]
    calls += [
        partial(pairs, effect=PAIR_EFFECT, noise=PAIR_NOISE, prompts=max(prompts), seed=one)
        for one in _seeds(seed, "pairs", toys)
    ]
    found = []
    for result in side_by_side(calls, processes=processes):
        found.append(result)
        note(f"toys: {len(found)} of {len(calls)}")
    rows = []
    for place, (effect, noise) in enumerate(points):
        here = found[place * toys : (place + 1) * toys]
        for n, rule in here[0]:
            tally = reduce(add, (tallies[n, rule] for tallies in here))
            shares = {"precision": tally.precision, "recall": tally.recall}
            rows.append({"effect": effect, "sd": noise, "prompts": n, "rule": rule, **asdict(tally), **shares})
    paired = [
        {**same[0], **{name: float(np.mean([one[name] for one in same])) for name in same[0] if name not in _TEXT}}
        for same in zip(*found[len(points) * toys :], strict=True)
    ]
    return Part([*_tables(rows, toys=toys), _pair_table(paired, prompts=max(prompts))], rows + paired)


def _seeds(seed: int, name: str, toys: int) -> list[int]:
    return [int(stream(seed, "toy", name, str(number)).integers(2**31)) for number in range(toys)]


def _tables(rows: Sequence[dict[str, Any]], *, toys: int) -> list[Table]:
    most = max(row["prompts"] for row in rows)
    widest = [row for row in rows if row["prompts"] == most]
    return [
        _by_rule(
            rows,
            lambda row: f"{_share(row['precision'])} / {_share(row['recall'])}",
            title=f"Toys with planted heads: precision / recall of memberships, {toys} toys per row",
            note=f"{_SETTING}{_READING}",
        ),
        _by_rule(
            widest,
            lambda row: f"{row['shared_right']} of {row['shared']}",
            title=f"Heads of two or three categories with exactly the right set, {most} prompts",
        ),
        _by_rule(
            widest,
            lambda row: (
                f"{row['suppressing_right']} of {row['suppressing']} / {row['suppressing_false']} / "
                f"{row['suppressing_as_members']}"
            ),
            title=f"Suppressing heads, {most} prompts",
            note="Found as suppressing / falsely called suppressing (both head x category) / suppressing heads called "
            "members of anything.",
        ),
    ]


def _by_rule(
    rows: Sequence[dict[str, Any]], text: Callable[[dict[str, Any]], str], *, title: str, note: str = ""
) -> Table:
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    for row in rows:
        condition = (f"{row['effect']:g}", f"{row['sd']:g}", str(row["prompts"]))
        cells.setdefault(condition, {})[row["rule"]] = text(row)
    names = tuple(map(repr, RULES))
    shown = [(*condition, *(found[name] for name in names)) for condition, found in cells.items()]
    return Table(title, ("effect", "SD", "prompts", *names), shown, note)


def _pair_table(rows: Sequence[dict[str, Any]], *, prompts: int) -> Table:
    shown = [
        (name, row["method"], *(f"{row[value]:.3f}" for value in ("called", "single", "sum", "joint")))
        for kind, name in _NAMES.items()
        for row in rows
        if row["pair"] == kind
    ]
    return Table(
        f"Redundant pairs: effect of the pair {PAIR_EFFECT:g}, SD {PAIR_NOISE:g}, {prompts} prompts",
        ("pair", "method", "called", "one head", "sum of two", "both at once"),
        shown,
        "Called: share of the pair's heads that `fdr(alpha=0.05, min_effect=0)` calls members of their category. The "
        "mean effect of one head alone, the sum of both, and the effect of both replaced at once "
        "(`hc.evidence.joint_sweep`).",
    )


def _share(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.2f}"
