"""Every protocol in saved results, judged by one rule: what a category may depend on."""

import itertools
import json
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import xarray as xr

from headcats.base.errors import (
    DataError,
    HeadcatsError,
    StatisticsWarning,
    UnknownNameError,
    pluralize,
    unknown_name_message,
)
from headcats.categories.map_spec import MapSpec
from headcats.categories.run_maps import kept_tables
from headcats.evidence.comparison.method_grid import IS_CONTROL
from headcats.evidence.comparison.runs import TASKS, Runs, judge_each
from headcats.results.declaration import approximation_label
from headcats.results.finding import line
from headcats.results.head_axes import HEAD
from headcats.results.label import Label
from headcats.scores.controls import control_blocks

# Differences that change how numbers are made; the others (name, revision, device) only say where.
_MODEL_PARTS = ("model model_class", "model weight_processing", "model dtype")
# Values that need no name; other parts are written with theirs: "seed 1".
_UNNAMED = ("suite", "template", "corruption", "revision")


class JudgedProtocols(NamedTuple):
    """Memberships by protocol, and the protocols that could not be judged."""

    members: dict[str, xr.Dataset]
    """Protocol -> what `hc.categorize` returns, with the attribute `plan`: JSON, the parts of the plan that differ from
    the first results -> their value (`tasks`: those with numbers); "" where none does."""
    left_out: dict[str, str]
    """Protocol -> why it is not among the members."""


class _Protocol(NamedTuple):
    name: str
    folder: str
    label: Label
    metric: str
    effect: str
    control: bool


def judge_protocols(runs: Runs, reading: MapSpec) -> JudgedProtocols:
    """Categories under every protocol in results of one model, by the rule of a reading: Zhang & Nanda (2309.16042).

    A protocol is named `denoising_patch@last, logit_diff`, followed by the parts of its plan that differ from the first
    results: `, shuffled_labels` (the corruption), `, seed 1`, `, 20 tasks`; task-specific effects are a protocol of
    their own (`, task_specific`). Method, positions and metric of the reading, where it names them, choose protocols.
    Left out are controls, effects of groups of heads beside those of single ones, and, unless a method is named,
    approximations beside at least two exact protocols. Warnings come once each, with their protocols.
    """
    if not runs:
        raise DataError("There are no results of any run to compare.")
    if not runs.corresponds:
        raise DataError(
            f"{' and '.join(runs)} hold results of different models: their heads need not correspond. "
            "`headcats report` puts their maps side by side."
        )
    method, positions, metric = reading.label.method, reading.label.positions, reading.metric
    plans = _plan_differences(runs)
    protocols = list(_protocols(runs, plans))
    selected = {
        protocol.name: protocol
        for protocol in protocols
        if method in ("", protocol.label.method, str(protocol.label))
        and positions in ("", protocol.label.positions)
        and metric in ("", protocol.metric)
    }
    if not selected:
        raise _no_such_protocol(protocols, method=method, positions=positions, metric=metric)
    effects = [protocol for protocol in selected.values() if not protocol.control]
    has_heads = any(protocol.label.unit == HEAD for protocol in effects)

    def judge(name: str) -> xr.Dataset:
        protocol = selected[name]
        if protocol.control:
            raise DataError(IS_CONTROL)
        if protocol.label.unit != HEAD and has_heads:
            raise DataError("its effects are of groups of heads, those of the others of single heads")
        run, plan = runs[protocol.folder], plans[protocol.folder]
        by = replace(reading, label=protocol.label, metric=protocol.metric, effect=protocol.effect).resolve(run)
        table = kept_tables(run, by, upto="overlap")["members"]
        if reason := table.attrs.get("not_judged"):
            raise DataError(reason)
        return table.assign_attrs(plan=json.dumps(plan, ensure_ascii=False) if plan else "")

    members, not_judged, messages = judge_each(selected, judge)
    copies = {name: str(line("several.copy", first=first)) for name, first in runs.copies.items()}
    left_out = copies | not_judged | _approximations_beside_exact(members, method)
    for message, names in messages.items():
        some = f"{len(names)} protocols, such as {names[0]}; {len(members)} are judged"
        listed = "; ".join(names) if len(names) <= 3 else some
        warnings.warn(message + f" ({listed})" * (set(names) != set(members)), StatisticsWarning, stacklevel=2)
    members = {name: table for name, table in members.items() if name not in left_out}
    if not members:
        reasons = "".join(f"\n- {name}: {reason}" for name, reason in left_out.items())
        raise DataError(f"No protocol can be judged:{reasons}")
    return JudgedProtocols(members, left_out)


def _protocols(runs: Runs, plans: Mapping[str, dict[str, Any]]) -> Iterator[_Protocol]:
    taken: set[str] = set()
    for folder, run in runs.items():
        metrics: dict[str, dict[str, None]] = {}
        for task, labels in run.tasks.items():
            for key in labels:
                if "metric" in (block := run.block(task, key)).coords:
                    metrics.setdefault(key, {}).update(dict.fromkeys(map(str, block.coords["metric"].values)))
        for label in run.scored:
            approximation = approximation_label(run.approximation(label))
            effects = ["total"]
            if "task" in control_blocks(run, [], method=label.method, positions=label.positions):
                effects.append("task_specific")
            for metric, effect in itertools.product(metrics.get(str(label), ()), effects):
                marks = (str(label), metric, effect if effect != "total" else "", _in_words(plans[folder]))
                name = ", ".join(filter(None, marks))
                # The same plan in two folders: only the folder tells them apart.
                name = f"{name}, {folder}" if name in taken else name
                taken.add(name)
                name = f"{name}, {approximation}" if approximation else name
                yield _Protocol(name, folder, label, metric, effect, bool(run.declarations[str(label)].control_of))


def _plan_differences(runs: Runs) -> dict[str, dict[str, Any]]:
    """Parts of each run's plan, its tasks among them, that differ from the first one's."""
    differing = {
        part.partition(" ")[2] or part: values
        for part, values in runs.differences.items()
        if part in (*_MODEL_PARTS, TASKS) or (part.startswith("plan ") and part != "plan metrics")
    }
    return {
        folder: {part: values[number] for part, values in differing.items() if values[number] != values[0]}
        | ({"revision": folder} if runs.is_training else {})
        for number, folder in enumerate(runs)
    }


def _in_words(plan: Mapping[str, Any]) -> str:
    return ", ".join(
        pluralize(len(value), "task") if key == "tasks" else str(value) if key in _UNNAMED else f"{key} {value}"
        for key, value in plan.items()
    )


def _approximations_beside_exact(members: Mapping[str, xr.Dataset], method: str) -> dict[str, str]:
    approximate = [name for name, table in members.items() if approximation_label(table)]
    if method or len(members) - len(approximate) < 2:
        return {}
    return dict.fromkeys(approximate, "estimates, not patched effects: name the method to compare an approximation")


def _no_such_protocol(protocols: list[_Protocol], *, method: str, positions: str, metric: str) -> HeadcatsError:
    if not protocols:
        return DataError("These results hold no scored task yet.")
    labels = [protocol.label for protocol in protocols]
    names = {
        "method": (method, [*(label.method for label in labels), *map(str, labels)]),
        "metric": (metric, [protocol.metric for protocol in protocols]),
        "positions": (positions, [label.positions for label in labels]),
    }
    for part, (name, present) in names.items():
        if name and name not in present:
            choices = list(dict.fromkeys(present))
            return UnknownNameError(unknown_name_message(f"{part} of these results", name, choices))
    parts = ", ".join(name for name, _ in names.values() if name)
    return DataError(f"No protocol is {parts}; there are {'; '.join(protocol.name for protocol in protocols)}.")
